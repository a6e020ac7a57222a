/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop of the integer convolutions and dense. */
#ifndef NNACL_DOT_S8_H
#define NNACL_DOT_S8_H

#include "nnacl_base.h"

/* sum + the products (x[i] - x_zero) * (w[i] - w_zero), modulo 2^32 whatever the count and the zero point of the
 * weights, which nobody has checked where it comes from a tensor that is no constant. */
static inline uint32_t nnacl_dot_s8(uint32_t sum, const int8_t *x, const int8_t *w, int32_t count, int32_t x_zero,
                                    int32_t w_zero) {
    if (w_zero == 0) { /* the usual case, cheaper */
        for (int32_t i = 0; i < count; i++) {
            sum += (uint32_t)((x[i] - x_zero) * w[i]);
        }
    } else {
        for (int32_t i = 0; i < count; i++) {
            sum += (uint32_t)(x[i] - x_zero) * ((uint32_t)w[i] - (uint32_t)w_zero);
        }
    }
    return sum;
}

/* What nnacl_dot4_s8() computes at a time. */
#define NNACL_DOT_CHANNELS 4

/* Adds to four sums the same products with four rows of weights, `step` elements from each other, whose zero points are
 * 0: each x is loaded once. */
static inline void nnacl_dot4_s8(uint32_t sums[NNACL_DOT_CHANNELS], const int8_t *x, const int8_t *w, ptrdiff_t step,
                                 int32_t count, int32_t x_zero) {
    const int8_t *w1 = w + step, *w2 = w1 + step, *w3 = w2 + step;
    uint32_t sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
    for (int32_t i = 0; i < count; i++) {
        const int32_t value = x[i] - x_zero;
        sum0 += (uint32_t)(value * w[i]);
        sum1 += (uint32_t)(value * w1[i]);
        sum2 += (uint32_t)(value * w2[i]);
        sum3 += (uint32_t)(value * w3[i]);
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

#endif
