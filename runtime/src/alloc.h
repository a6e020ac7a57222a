/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through the caller's allocator. */
#ifndef LITH_ALLOC_H
#define LITH_ALLOC_H

#include "microlith.h"

/* Of every block, the arena included: a cache line, and the widest vector of any instruction set. */
#define LITH_ALIGNMENT 64

/* malloc and free. */
lith_allocator lith_allocator_default(void);

/* `count` elements of `size` bytes, all zero, or NULL. */
void *lith_allocate(const lith_allocator *allocator, size_t count, size_t size);

/* Refuses one that a caller gave if it lacks a function; NULL is none. */
lith_status lith_allocator_check(const lith_allocator *allocator, lith_message *message);

/* The same count and size again. Accepts NULL. */
void lith_release(const lith_allocator *allocator, void *memory, size_t count, size_t size);

#endif
