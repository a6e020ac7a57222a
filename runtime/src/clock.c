/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif

#include "clock.h"

#include <time.h>

int64_t lith_now(void) {
    struct timespec time;
#if defined(__unix__) || defined(__APPLE__)
    clock_gettime(CLOCK_MONOTONIC, &time);
#else
    timespec_get(&time, TIME_UTC);
#endif
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
