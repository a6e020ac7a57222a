/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#define LITH_HAVE_PTHREAD 1
#endif

#include "threads.h"

#include "status.h"

#ifdef LITH_HAVE_PTHREAD

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A worker looks this often for new work before it goes to sleep, some tens of microseconds: nodes follow each other
 * quickly, and waking takes as long. */
#define SPINS 4000

/* Leaves the core to others that share it, for some cycles. */
static inline void rest(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

/* A piece of work is a round. A worker joins a round while it is open; the caller closes it when no part is left, and
 * then waits only for those who joined. So a worker that the system wakes too late costs nothing. */
struct lith_pool {
    int32_t threads;
    int32_t started; /* threads that run, without the caller */
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    /* written under the mutex */
    atomic_uint round;
    bool open, stop;
    lith_task task;
    void *user;
    int32_t parts;
    atomic_int active; /* workers that joined and have not finished */

    atomic_int next; /* part */
    struct lith_worker *workers;
};

typedef struct lith_worker {
    lith_pool *pool;
    int32_t number;
    pthread_t thread;
} lith_worker;

static void take_parts(lith_pool *pool, lith_task task, void *user, int32_t parts, int32_t worker) {
    for (;;) {
        int32_t part = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (part >= parts) {
            return;
        }
        task(user, worker, part);
    }
}

static void *worker_main(void *argument) {
    lith_worker *worker = argument;
    lith_pool *pool = worker->pool;
    unsigned seen = 0;
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load_explicit(&pool->round, memory_order_relaxed) == seen; i++) {
            rest();
        }
        pthread_mutex_lock(&pool->mutex);
        while (atomic_load_explicit(&pool->round, memory_order_relaxed) == seen) {
            pthread_cond_wait(&pool->work, &pool->mutex);
        }
        seen = atomic_load_explicit(&pool->round, memory_order_relaxed);
        lith_task task = pool->task;
        void *user = pool->user;
        int32_t parts = pool->parts;
        bool stop = pool->stop;
        bool joins = pool->open && worker->number < parts;
        if (joins) {
            atomic_fetch_add_explicit(&pool->active, 1, memory_order_relaxed);
        }
        pthread_mutex_unlock(&pool->mutex);
        if (stop) {
            return NULL;
        }
        if (joins) {
            take_parts(pool, task, user, parts, worker->number);
            if (atomic_fetch_sub_explicit(&pool->active, 1, memory_order_acq_rel) == 1) {
                pthread_mutex_lock(&pool->mutex);
                pthread_cond_signal(&pool->done);
                pthread_mutex_unlock(&pool->mutex);
            }
        }
    }
}

static void open_round(lith_pool *pool, lith_task task, void *user, int32_t parts, bool stop) {
    pthread_mutex_lock(&pool->mutex);
    pool->task = task;
    pool->user = user;
    pool->parts = parts;
    pool->stop = stop;
    pool->open = true;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_relaxed);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

static void close_round(lith_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->open = false;
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool->active, memory_order_acquire) > 0; i++) {
        rest();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load_explicit(&pool->active, memory_order_acquire) > 0) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void lith_pool_run(lith_pool *pool, lith_task task, void *user, int32_t parts) {
    if (pool->started == 0 || parts < 2) {
        for (int32_t part = 0; part < parts; part++) {
            task(user, 0, part);
        }
        return;
    }
    open_round(pool, task, user, parts, false);
    take_parts(pool, task, user, parts, 0);
    close_round(pool);
}

/* Signals of the process are handled by the caller's threads. */
static bool start(lith_worker *worker) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

lith_status lith_pool_create(int32_t threads, const lith_allocator *allocator, lith_pool **pool,
                             lith_message *message) {
    lith_pool *result = lith_allocate(allocator, 1, sizeof *result);
    lith_worker *workers = lith_allocate(allocator, (size_t)threads, sizeof *workers);
    if (result == NULL || workers == NULL) {
        lith_release(allocator, workers, (size_t)threads, sizeof *workers);
        lith_release(allocator, result, 1, sizeof *result);
        return lith_fail_memory(message, "the threads");
    }
    result->threads = threads;
    result->workers = workers;
    pthread_mutex_init(&result->mutex, NULL);
    pthread_cond_init(&result->work, NULL);
    pthread_cond_init(&result->done, NULL);
    atomic_init(&result->round, 0);
    atomic_init(&result->next, 0);
    atomic_init(&result->active, 0);
    for (int32_t i = 1; i < threads; i++) {
        workers[i].pool = result;
        workers[i].number = i;
        if (!start(&workers[i])) {
            lith_pool_destroy(result, allocator);
            return lith_fail(message, LITH_ERROR_MEMORY, "the system does not start %d threads", (int)threads);
        }
        result->started = i;
    }
    *pool = result;
    return LITH_OK;
}

void lith_pool_destroy(lith_pool *pool, const lith_allocator *allocator) {
    if (pool == NULL) {
        return;
    }
    open_round(pool, NULL, NULL, 0, true);
    for (int32_t i = 1; i <= pool->started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    lith_release(allocator, pool->workers, (size_t)pool->threads, sizeof *pool->workers);
    lith_release(allocator, pool, 1, sizeof *pool);
}

int32_t lith_pool_threads(const lith_pool *pool) {
    return pool->threads;
}

#else

/* Without POSIX threads everything runs on the caller's. */
struct lith_pool {
    int32_t threads;
};

lith_status lith_pool_create(int32_t threads, const lith_allocator *allocator, lith_pool **pool,
                             lith_message *message) {
    lith_pool *result = lith_allocate(allocator, 1, sizeof *result);
    if (result == NULL) {
        return lith_fail_memory(message, "the threads");
    }
    (void)threads;
    result->threads = 1;
    *pool = result;
    return LITH_OK;
}

void lith_pool_run(lith_pool *pool, lith_task task, void *user, int32_t parts) {
    (void)pool;
    for (int32_t part = 0; part < parts; part++) {
        task(user, 0, part);
    }
}

void lith_pool_destroy(lith_pool *pool, const lith_allocator *allocator) {
    lith_release(allocator, pool, 1, sizeof *pool);
}

int32_t lith_pool_threads(const lith_pool *pool) {
    return pool->threads;
}

#endif
