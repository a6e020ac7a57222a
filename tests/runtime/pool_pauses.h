/* SPDX-License-Identifier: Apache-2.0 */
/* Included before threads.c: now and then a thread loses its core just before an atomic operation, so that orders of
 * events that are rare otherwise become common. */
#ifndef POOL_PAUSES_H
#define POOL_PAUSES_H

#define _GNU_SOURCE /* sched_setaffinity() of threads.c */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static inline memory_order after_a_pause(memory_order order) {
    static _Thread_local uint64_t state;
    state = (state + (uint64_t)(uintptr_t)&state) * 6364136223846793005u + 1442695040888963407u;
    if (state >> 58 == 0) {
        const struct timespec time = {0, 20000};
        nanosleep(&time, NULL);
    } else if (state >> 60 == 1) {
        sched_yield();
    }
    return order;
}

#define memory_order_relaxed after_a_pause(memory_order_relaxed)
#define memory_order_acquire after_a_pause(memory_order_acquire)

#endif
