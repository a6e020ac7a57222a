/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads that share the parts of one piece of work at a time. */
#ifndef LITH_THREADS_H
#define LITH_THREADS_H

#include "alloc.h"

typedef struct lith_pool lith_pool;

/* Part `part` of `parts`, by any worker. A worker runs one part at a time. */
typedef void (*lith_task)(void *user, int32_t worker, int32_t part, int32_t parts);

/* Cores that threads are bound to, as lith_session_options has them. */
typedef struct lith_cores {
    const int32_t *numbers;
    int32_t count; /* 0: the system chooses */
} lith_cores;

/* `threads` workers, the caller of lith_pool_run included; with 1 no thread is started. */
lith_status lith_pool_create(int32_t threads, lith_cores cores, const lith_allocator *allocator, lith_pool **pool,
                             lith_message *message);

/* Runs all of the work and returns when it is done: in so many parts, or where it helps in fewer, larger ones that are
 * several of these. Worker numbers are below min(threads, parts). */
void lith_pool_run(lith_pool *pool, lith_task task, void *user, int32_t parts);

int32_t lith_pool_threads(const lith_pool *pool);

/* Accepts NULL. */
void lith_pool_destroy(lith_pool *pool, const lith_allocator *allocator);

#endif
