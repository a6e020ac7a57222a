/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file in memory. */
#ifndef LITH_MAPPING_H
#define LITH_MAPPING_H

#include "microlith.h"

typedef struct lith_mapping {
    const uint8_t *data; /* a multiple of 16 */
    size_t size;
    int mapped;  /* by the system: pages are read when they are used */
    void *owned; /* allocated, else NULL */
} lith_mapping;

/* Maps a regular file, or reads it where the system cannot map. */
lith_status lith_mapping_open(lith_mapping *mapping, const char *path, const lith_allocator *allocator,
                              lith_message *message);

/* The caller's bytes, or a copy of them when they are not aligned. */
lith_status lith_mapping_wrap(lith_mapping *mapping, const void *data, size_t size, const lith_allocator *allocator,
                              lith_message *message);

/* Says that bytes will hardly be read again: memory for a copy of the file's pages may be taken back. They can still be
 * read, from the file. */
void lith_mapping_release(const lith_mapping *mapping, const void *data, size_t size);

/* Accepts a mapping that is all zero. */
void lith_mapping_close(lith_mapping *mapping, const lith_allocator *allocator);

#endif
