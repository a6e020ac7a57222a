/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-adds of float32 that one core does per second with all of them in registers, from the wall clock. Compiled
 * by compare.py for AVX2 or AVX-512. */
#define _POSIX_C_SOURCE 200809L
#include <immintrin.h>
#include <time.h>

#ifdef __AVX512F__
#define LANES 16
typedef __m512 lanes;
#define ADD_PRODUCT _mm512_fmadd_ps
#define SPREAD _mm512_set1_ps
#else
#define LANES 8
typedef __m256 lanes;
#define ADD_PRODUCT _mm256_fmadd_ps
#define SPREAD _mm256_set1_ps
#endif
#define CHAINS 12
#define STEPS 200000

/* Floating-point operations (two for a multiply-add) per second, the best of some tries; *sink takes the sums. */
double fma_peak(float *sink);

double fma_peak(float *sink) {
    double best = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
        lanes sums[CHAINS];
        const lanes a = SPREAD(0.999f), b = SPREAD(0.001f);
        for (int i = 0; i < CHAINS; i++) {
            sums[i] = SPREAD((float)i);
        }
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
            for (int i = 0; i < CHAINS; i++) {
                sums[i] = ADD_PRODUCT(sums[i], a, b);
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        for (int i = 0; i < CHAINS; i++) {
            *sink += ((const float *)&sums[i])[0];
        }
        const double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
        const double rate = 2.0 * LANES * CHAINS * STEPS / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}
