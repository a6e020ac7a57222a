/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#define LITH_HAVE_PTHREAD 1
#endif

#include "threads.h"

#include "clock.h"
#include "status.h"

#ifdef LITH_HAVE_PTHREAD

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A worker looks this often for new work before it goes to sleep, some tens of microseconds: nodes follow each other
 * quickly, and waking takes as long. */
#define SPINS 4000

/* A wait for the others that is longer than the caller's own work by this much, in nanoseconds, means that the system
 * gave a worker's core to somebody else in the middle of a part. */
#define STALL 100000
/* For how long the caller then works alone: so long first, and twice as long each time that it happens soon again. */
#define ALONE_LEAST 10000000
#define ALONE_MOST 500000000

/* Numbers that different cores write lie in different cache lines. */
#define LINE 64

/* Leaves the core to others that share it, for some cycles. */
static inline void rest(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

/* A piece of work is a round. Its parts are dealt out in advance, neighbours to the same thread, in each round alike:
 * so a thread finds what it wrote in the round before in its own cache. Who is done with his parts takes them from the
 * end of the others'.
 *
 * A worker joins a round while it is open; the caller closes it when no part is left, and then waits only for those who
 * joined. So a worker that the system wakes too late costs nothing. Nobody takes a lock in this, but to sleep. */
typedef struct lith_worker {
    _Alignas(LINE) atomic_int left; /* parts of this thread that nobody took */
    atomic_int first, end;          /* the next one for itself; behind the next one for others */
    lith_pool *pool;
    int32_t number;
    pthread_t thread;
} lith_worker;

/* Bits of the pool's state: the number of the round, whether it is open, and how many workers joined. */
#define JOINED_MASK 0xffffu
#define OPEN 0x10000u
#define ROUND 0x20000u

struct lith_pool {
    int32_t threads;
    int32_t started; /* threads that run, without the caller */
    lith_worker *workers;
    /* written by the caller before the round opens, read by those who joined */
    lith_task task;
    void *user;
    int32_t parts;
    int32_t dealt; /* threads that have parts of their own */
    bool stop;
    /* the caller's alone */
    int64_t alone_until, alone_for; /* nanoseconds */
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    _Alignas(LINE) atomic_uint_least64_t state;
    _Alignas(LINE) atomic_int finished; /* of those who joined */
    atomic_int sleepers;                /* workers that wait for `work` */
    atomic_bool caller_sleeps;          /* ... the caller for `done` */
};

/* A number of parts left is taken down first, so an index can be taken only as often as there are parts. */
static int32_t take(lith_worker *from, int32_t most) {
    int32_t left = atomic_load_explicit(&from->left, memory_order_relaxed);
    while (left > 0) {
        const int32_t count = left < most ? left : most;
        if (atomic_compare_exchange_weak_explicit(&from->left, &left, left - count, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return count;
        }
    }
    return 0;
}

/* A part and its neighbour are one part of half as many, and so on: fewer, larger parts are less work where all of them
 * read the same weights. */
static void run_parts(const lith_pool *pool, int32_t number, int32_t first, int32_t count) {
    if (first % count == 0 && pool->parts % count == 0) {
        pool->task(pool->user, number, first / count, pool->parts / count);
        return;
    }
    for (int32_t part = first; part < first + count; part++) {
        pool->task(pool->user, number, part, pool->parts);
    }
}

/* Half of the own parts in one go, then one by one, from the front; those of others from the end. */
static void take_parts(lith_pool *pool, int32_t number) {
    const int32_t dealt = pool->dealt;
    if (number >= dealt) {
        return;
    }
    lith_worker *self = &pool->workers[number];
    const int32_t own = atomic_load_explicit(&self->end, memory_order_relaxed) -
                        atomic_load_explicit(&self->first, memory_order_relaxed);
    int32_t count = take(self, own > 1 ? own / 2 : 1);
    for (; count > 0; count = take(self, 1)) {
        run_parts(pool, number, atomic_fetch_add_explicit(&self->first, count, memory_order_relaxed), count);
    }
    for (int32_t i = 1; i < dealt; i++) {
        lith_worker *other = &pool->workers[(number + i) % dealt];
        while (take(other, 1) > 0) {
            run_parts(pool, number, atomic_fetch_sub_explicit(&other->end, 1, memory_order_relaxed) - 1, 1);
        }
    }
}

static bool is_new(uint64_t state, uint64_t seen) {
    return state / ROUND != seen;
}

static uint64_t await_round(lith_pool *pool, uint64_t seen) {
    uint64_t state = 0;
    for (int i = 0; i < SPINS; i++) {
        state = atomic_load_explicit(&pool->state, memory_order_acquire);
        if (is_new(state, seen)) {
            return state;
        }
        rest();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    for (state = atomic_load(&pool->state); !is_new(state, seen); state = atomic_load(&pool->state)) {
        pthread_cond_wait(&pool->work, &pool->mutex);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return state;
}

static void *worker_main(void *argument) {
    const lith_worker *worker = argument;
    lith_pool *pool = worker->pool;
    uint64_t seen = 0;
    for (;;) {
        uint64_t state = await_round(pool, seen);
        bool joined = false;
        while (is_new(state, seen) && (state & OPEN) != 0 && !joined) {
            joined = atomic_compare_exchange_weak(&pool->state, &state, state + 1);
        }
        seen = state / ROUND;
        if (!joined) {
            continue;
        }
        const bool stop = pool->stop;
        if (!stop) {
            take_parts(pool, worker->number);
        }
        atomic_fetch_add(&pool->finished, 1);
        if (atomic_load(&pool->caller_sleeps)) {
            pthread_mutex_lock(&pool->mutex);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->mutex);
        }
        if (stop) {
            return NULL;
        }
    }
}

static void open_round(lith_pool *pool) {
    const uint64_t round = atomic_load_explicit(&pool->state, memory_order_relaxed) / ROUND + 1;
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    atomic_store(&pool->state, round * ROUND + OPEN);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void close_round(lith_pool *pool) {
    const int joined = (int)(atomic_fetch_and(&pool->state, ~(uint64_t)OPEN) & JOINED_MASK);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->finished, memory_order_acquire) == joined) {
            return;
        }
        rest();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->finished) != joined) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
}

/* A core that others use costs no more than the time to find it out. */
static void watch(lith_pool *pool, int64_t opened, int64_t worked) {
    const int64_t now = lith_now();
    if (now - worked <= worked - opened + STALL) {
        return;
    }
    const bool again = opened < pool->alone_until + pool->alone_for;
    pool->alone_for = again ? 2 * pool->alone_for : ALONE_LEAST;
    pool->alone_for = pool->alone_for > ALONE_MOST ? ALONE_MOST : pool->alone_for;
    pool->alone_until = now + pool->alone_for;
}

void lith_pool_run(lith_pool *pool, lith_task task, void *user, int32_t parts) {
    const int64_t opened = pool->started > 0 && parts > 1 ? lith_now() : 0;
    if (pool->started == 0 || parts < 2 || opened < pool->alone_until) {
        if (parts > 0) {
            task(user, 0, 0, 1);
        }
        return;
    }
    const int32_t dealt = parts < pool->threads ? parts : pool->threads;
    for (int32_t i = 0; i < dealt; i++) {
        const int32_t first = (int32_t)((int64_t)parts * i / dealt), end = (int32_t)((int64_t)parts * (i + 1) / dealt);
        atomic_store_explicit(&pool->workers[i].left, end - first, memory_order_relaxed);
        atomic_store_explicit(&pool->workers[i].first, first, memory_order_relaxed);
        atomic_store_explicit(&pool->workers[i].end, end, memory_order_relaxed);
    }
    pool->task = task;
    pool->user = user;
    pool->parts = parts;
    pool->dealt = dealt;
    open_round(pool);
    take_parts(pool, 0);
    const int64_t worked = lith_now();
    close_round(pool);
    watch(pool, opened, worked);
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
    atomic_init(&result->state, 0);
    atomic_init(&result->finished, 0);
    atomic_init(&result->sleepers, 0);
    atomic_init(&result->caller_sleeps, false);
    for (int32_t i = 0; i < threads; i++) {
        workers[i].pool = result;
        workers[i].number = i;
    }
    for (int32_t i = 1; i < threads; i++) {
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
    pool->stop = true;
    open_round(pool);
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
    if (parts > 0) {
        task(user, 0, 0, 1);
    }
}

void lith_pool_destroy(lith_pool *pool, const lith_allocator *allocator) {
    lith_release(allocator, pool, 1, sizeof *pool);
}

int32_t lith_pool_threads(const lith_pool *pool) {
    return pool->threads;
}

#endif
