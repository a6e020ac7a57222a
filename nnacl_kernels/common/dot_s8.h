/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop of the integer convolutions and dense. */
#ifndef NNACL_DOT_S8_H
#define NNACL_DOT_S8_H

#include "nnacl_base.h"

/* sum + the products (x[i] - x_zero) * (w[i] - w_zero), modulo 2^32 whatever the count. */
static inline uint32_t nnacl_dot_s8(uint32_t sum, const int8_t *x, const int8_t *w, int32_t count, int32_t x_zero,
                                    int32_t w_zero) {
    if (w_zero == 0) { /* the usual case, cheaper */
        for (int32_t i = 0; i < count; i++) {
            sum += (uint32_t)((x[i] - x_zero) * w[i]);
        }
    } else {
        for (int32_t i = 0; i < count; i++) {
            sum += (uint32_t)((x[i] - x_zero) * (w[i] - w_zero));
        }
    }
    return sum;
}

#endif
