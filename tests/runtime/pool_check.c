/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of threads: all work is done once, by whatever number of threads, however they are delayed. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "status.h"
#include "threads.h"

#define UNITS 240

/* The library's own would bring all kernels along. */
lith_status lith_fail(lith_message *message, lith_status status, const char *format, ...) {
    (void)message;
    (void)format;
    return status;
}

lith_status lith_fail_memory(lith_message *message, const char *what) {
    (void)message;
    (void)what;
    return LITH_ERROR_MEMORY;
}

static void doze(long nanoseconds) {
    const struct timespec time = {0, nanoseconds};
    nanosleep(&time, NULL);
}

static void require(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

typedef struct job {
    unsigned char done[UNITS]; /* not atomic: a unit done twice at a time is a race that the sanitizer sees */
    atomic_int calls, others;  /* by workers that are not the caller */
    int32_t workers;
    long delay; /* of workers that are not the caller */
} job;

static void work(void *user, int32_t worker, int32_t part, int32_t parts) {
    job *self = user;
    require(worker >= 0 && worker < self->workers && part >= 0 && part < parts, "a number out of range");
    for (int32_t i = UNITS * part / parts; i < UNITS * (part + 1) / parts; i++) {
        self->done[i]++;
    }
    atomic_fetch_add(&self->calls, 1);
    if (worker > 0) {
        atomic_fetch_add(&self->others, 1);
        if (self->delay > 0) {
            doze(self->delay);
        }
    } else if (self->delay < 0) {
        doze(-self->delay); /* the caller is slow: the others get their parts, and some of its own */
    }
}

static void run_once(lith_pool *pool, job *self, int32_t parts, long delay) {
    memset(self->done, 0, sizeof self->done);
    atomic_store(&self->calls, 0);
    atomic_store(&self->others, 0);
    self->workers = lith_pool_threads(pool) < parts ? lith_pool_threads(pool) : parts;
    self->delay = delay;
    lith_pool_run(pool, work, self, parts);
    for (int32_t i = 0; i < UNITS; i++) {
        require(self->done[i] == 1, "a unit of work was not done once");
    }
    require(atomic_load(&self->calls) <= parts, "more calls than parts");
}

static void check_stall(const lith_allocator *allocator) {
    lith_message message;
    lith_pool *pool = NULL;
    job self;
    require(lith_pool_create(2, (lith_cores){NULL, 0}, allocator, &pool, &message) == LITH_OK, "no pool");
    do {
        run_once(pool, &self, 4, -1000000);
    } while (atomic_load(&self.others) == 0);
    /* A worker that stays away for long in the middle of its part: the caller does not count on it for a while. On a
     * machine that is busy the caller may itself be kept from its core for as long, and then blames nobody. */
    bool alone = false;
    for (int32_t attempt = 0; attempt < 50 && !alone; attempt++) {
        do {
            run_once(pool, &self, 2, 20000000);
        } while (atomic_load(&self.others) == 0);
        run_once(pool, &self, 4, 0);
        alone = atomic_load(&self.calls) == 1;
    }
    require(alone, "the caller did not work alone");
    int64_t until = lith_now() + 10000000000;
    do {
        run_once(pool, &self, 4, -1000000);
        require(lith_now() < until, "the worker never came back");
    } while (atomic_load(&self.others) == 0);
    lith_pool_destroy(pool, allocator);
}

int main(void) {
    const lith_allocator allocator = lith_allocator_default();
    lith_message message;
    for (int32_t threads = 1; threads <= 5; threads++) {
        lith_pool *pool = NULL;
        job self;
        require(lith_pool_create(threads, (lith_cores){NULL, 0}, &allocator, &pool, &message) == LITH_OK, "no pool");
        for (int32_t round = 0; round < 300; round++) {
            run_once(pool, &self, 1 + round % 23, 0);
            if (round % 50 == 49) {
                doze(2000000); /* the workers go to sleep */
                run_once(pool, &self, 8, 50000);
                run_once(pool, &self, 8, -50000);
            }
        }
        lith_pool_destroy(pool, &allocator);
    }
    check_stall(&allocator);
    puts("all work was done once");
    return 0;
}
