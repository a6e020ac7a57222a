/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_setaffinity() */
#define LITH_HAVE_AFFINITY 1
#endif
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#define LITH_HAVE_PTHREAD 1
#endif

#include "threads.h"

#include "clock.h"
#include "status.h"

#ifdef LITH_HAVE_PTHREAD

#include <pthread.h>
#ifdef LITH_HAVE_AFFINITY
#include <sched.h>
#endif
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
 * What a round costs is how often a cache line goes from core to core. What the caller publishes is one line; how far a
 * thread is, and what it did, is another, which nobody has to set up: numbers of an older round mean that nothing is
 * taken. The caller goes on when as many parts are done as there are; a worker that the system wakes too late finds
 * nothing to take and costs nothing: number and parts of a round are one word, so he never counts the parts of another.
 * Nobody takes a lock in this, but to sleep. */
typedef struct lith_worker {
    _Alignas(LINE) atomic_uint_least64_t taken; /* round, parts taken from the front, parts taken from the end */
    atomic_uint_least64_t done;                 /* round, parts that this thread finished */
    lith_pool *pool;
    int32_t number;
    pthread_t thread;
} lith_worker;

#define COUNT_BITS 12
#define COUNT_MASK ((1u << COUNT_BITS) - 1u)
#define ROUND_SHIFT (2 * COUNT_BITS)
#define ROUND_MASK (UINT64_MAX >> ROUND_SHIFT) /* numbers of rounds start again after some months */

struct lith_pool {
    /* The line that a round begins with, written by the caller alone: `round` after the others. */
    _Alignas(LINE) atomic_uint_least64_t round; /* its number, its parts */
    _Atomic(lith_task) task;
    _Atomic(void *) user;
    atomic_bool stop;
    atomic_bool caller_sleeps; /* waits for `finished` */
    /* written when a worker goes to sleep */
    _Alignas(LINE) atomic_int sleepers; /* workers that wait for `work` */
    pthread_mutex_t mutex;
    pthread_cond_t work, finished;
    /* fixed, or the caller's alone */
    _Alignas(LINE) int32_t threads;
    int32_t started; /* threads that run, without the caller */
    lith_worker *workers;
    int64_t alone_until, alone_for; /* nanoseconds */
};

/* What a thread knows of the round that it works for. */
typedef struct lith_round {
    lith_pool *pool;
    uint64_t number;
    int32_t parts, dealt; /* dealt: to so many threads */
    int32_t finished;     /* by this thread */
    lith_task task;
    void *user;
} lith_round;

/* A task of a later round may be among what is read here: then all parts of this round are done, and none is taken. */
static lith_round round_of(lith_pool *pool, uint64_t round) {
    const int32_t parts = (int32_t)(round & COUNT_MASK);
    return (lith_round){.pool = pool,
                        .number = round >> COUNT_BITS,
                        .parts = parts,
                        .dealt = parts < pool->threads ? parts : pool->threads,
                        .task = atomic_load_explicit(&pool->task, memory_order_acquire),
                        .user = atomic_load_explicit(&pool->user, memory_order_acquire)};
}

static int32_t share_begin(const lith_round *round, int32_t number) {
    return (int32_t)((int64_t)round->parts * number / round->dealt);
}

/* Takes up to `most` of the parts of thread `number`, from the front or from the end: returns how many, and which is
 * the first. A number of taken parts of a later round means that this one is over. */
static int32_t take(const lith_round *round, int32_t number, int32_t most, bool front, int32_t *first) {
    lith_worker *from = &round->pool->workers[number];
    const int32_t begin = share_begin(round, number), all = share_begin(round, number + 1) - begin;
    uint64_t taken = atomic_load_explicit(&from->taken, memory_order_relaxed);
    for (;;) {
        const int64_t age = (int64_t)((round->number - (taken >> ROUND_SHIFT)) << ROUND_SHIFT);
        const int32_t ahead = age > 0 ? 0 : (int32_t)(taken >> COUNT_BITS & COUNT_MASK);
        const int32_t behind = age > 0 ? 0 : (int32_t)(taken & COUNT_MASK), left = all - ahead - behind;
        const int32_t count = left < most ? left : most;
        if (age < 0 || count <= 0) {
            return 0;
        }
        const uint64_t next = round->number << ROUND_SHIFT | (uint64_t)(front ? ahead + count : ahead) << COUNT_BITS |
                              (uint64_t)(front ? behind : behind + count);
        if (atomic_compare_exchange_weak_explicit(&from->taken, &taken, next, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            *first = front ? begin + ahead : begin + all - behind - count;
            return count;
        }
    }
}

/* A part and its neighbour are one part of half as many, and so on: fewer, larger parts are less work where all of them
 * read the same weights. */
static void run_parts(lith_round *round, int32_t number, int32_t first, int32_t count) {
    if (first % count == 0 && round->parts % count == 0) {
        round->task(round->user, number, first / count, round->parts / count);
    } else {
        for (int32_t part = first; part < first + count; part++) {
            round->task(round->user, number, part, round->parts);
        }
    }
    round->finished += count;
}

/* Half of the own parts in one go, then one by one, from the front; those of others from the end. */
static void take_parts(lith_round *round, int32_t number) {
    if (number >= round->dealt) {
        return;
    }
    const int32_t own = share_begin(round, number + 1) - share_begin(round, number);
    int32_t first = 0, count = take(round, number, own > 1 ? own / 2 : 1, true, &first);
    for (; count > 0; count = take(round, number, 1, true, &first)) {
        run_parts(round, number, first, count);
    }
    for (int32_t i = 1; i < round->dealt; i++) {
        while (take(round, (number + i) % round->dealt, 1, false, &first) > 0) {
            run_parts(round, number, first, 1);
        }
    }
}

static uint64_t await_round(lith_pool *pool, uint64_t seen) {
    uint64_t round = seen;
    for (int i = 0; i < SPINS; i++) {
        round = atomic_load_explicit(&pool->round, memory_order_acquire);
        if (round != seen) {
            return round;
        }
        rest();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    for (round = atomic_load(&pool->round); round == seen; round = atomic_load(&pool->round)) {
        pthread_cond_wait(&pool->work, &pool->mutex);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return round;
}

static void *worker_main(void *argument) {
    lith_worker *worker = argument;
    lith_pool *pool = worker->pool;
    uint64_t seen = 0;
    for (;;) {
        seen = await_round(pool, seen);
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
            return NULL;
        }
        lith_round round = round_of(pool, seen);
        take_parts(&round, worker->number);
        if (round.finished > 0) {
            atomic_store(&worker->done, round.number << ROUND_SHIFT | (uint64_t)round.finished);
            if (atomic_load(&pool->caller_sleeps)) {
                pthread_mutex_lock(&pool->mutex);
                pthread_cond_signal(&pool->finished);
                pthread_mutex_unlock(&pool->mutex);
            }
        }
    }
}

static uint64_t open_round(lith_pool *pool, int32_t parts) {
    const uint64_t last = atomic_load_explicit(&pool->round, memory_order_relaxed) >> COUNT_BITS;
    const uint64_t round = ((last + 1) & ROUND_MASK) << COUNT_BITS | (uint64_t)parts;
    atomic_store(&pool->round, round);
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
    return round;
}

/* Whether the workers finished what the caller did not. */
static bool is_finished(const lith_round *round) {
    int32_t finished = round->finished;
    for (int32_t i = 1; i < round->dealt && finished < round->parts; i++) {
        const uint64_t done = atomic_load(&round->pool->workers[i].done);
        finished += done >> ROUND_SHIFT == round->number ? (int32_t)(done & COUNT_MASK) : 0;
    }
    return finished == round->parts;
}

static void close_round(const lith_round *round) {
    lith_pool *pool = round->pool;
    for (int i = 0; i < SPINS; i++) {
        if (is_finished(round)) {
            return;
        }
        rest();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while (!is_finished(round)) {
        pthread_cond_wait(&pool->finished, &pool->mutex);
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
    parts = parts < (int32_t)COUNT_MASK ? parts : (int32_t)COUNT_MASK;
    atomic_store_explicit(&pool->task, task, memory_order_relaxed);
    atomic_store_explicit(&pool->user, user, memory_order_relaxed);
    lith_round round = round_of(pool, open_round(pool, parts));
    take_parts(&round, 0);
    if (!is_finished(&round)) {
        const int64_t worked = lith_now();
        close_round(&round);
        watch(pool, opened, worked);
    }
}

#ifdef LITH_HAVE_AFFINITY

/* Moves the calling thread to a core, on which the threads that it starts then are; `before` gets where it was. */
static bool move_to(int32_t core, cpu_set_t *before) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof *before, before) != 0) {
        return false;
    }
    CPU_SET((size_t)core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void move_back(const cpu_set_t *before) {
    sched_setaffinity(0, sizeof *before, before);
}

#else

typedef int cpu_set_t;

static bool move_to(int32_t core, cpu_set_t *before) {
    (void)core;
    (void)before;
    return false;
}

static void move_back(const cpu_set_t *before) {
    (void)before;
}

#endif

/* Signals of the process are handled by the caller's threads. */
static bool start(lith_worker *worker) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static lith_status start_on(lith_worker *worker, int32_t core, lith_message *message) {
    cpu_set_t before;
    if (core >= 0 && !move_to(core, &before)) {
        return lith_fail(message, LITH_ERROR_ARGUMENT, "a thread cannot be bound to core %d of this machine",
                         (int)core);
    }
    const bool started = start(worker);
    if (core >= 0) {
        move_back(&before);
    }
    return started ? LITH_OK : lith_fail(message, LITH_ERROR_MEMORY, "the system does not start another thread");
}

lith_status lith_pool_create(int32_t threads, lith_cores cores, const lith_allocator *allocator, lith_pool **pool,
                             lith_message *message) {
    for (int32_t i = 0; i < cores.count; i++) {
        if (cores.numbers[i] < 0) {
            return lith_fail(message, LITH_ERROR_ARGUMENT, "there is no core %d", (int)cores.numbers[i]);
        }
    }
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
    pthread_cond_init(&result->finished, NULL);
    atomic_init(&result->round, 0);
    atomic_init(&result->task, NULL);
    atomic_init(&result->user, NULL);
    atomic_init(&result->stop, false);
    atomic_init(&result->sleepers, 0);
    atomic_init(&result->caller_sleeps, false);
    for (int32_t i = 0; i < threads; i++) {
        workers[i].pool = result;
        workers[i].number = i;
        atomic_init(&workers[i].taken, 0);
        atomic_init(&workers[i].done, 0);
    }
    for (int32_t i = 1; i < threads; i++) {
        const int32_t core = cores.count > 0 ? cores.numbers[i % cores.count] : -1;
        const lith_status status = start_on(&workers[i], core, message);
        if (status != LITH_OK) {
            lith_pool_destroy(result, allocator);
            return status;
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
    atomic_store_explicit(&pool->stop, true, memory_order_relaxed);
    open_round(pool, 0);
    for (int32_t i = 1; i <= pool->started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->finished);
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

lith_status lith_pool_create(int32_t threads, lith_cores cores, const lith_allocator *allocator, lith_pool **pool,
                             lith_message *message) {
    (void)cores;
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
