/* SPDX-License-Identifier: Apache-2.0 */
/* 1 / sqrt of an integer in 32-bit fixed point, by five steps of Newton's method, as gemmlowp and LiteRT compute it. */
#ifndef NNACL_INVERSE_ROOT_H
#define NNACL_INVERSE_ROOT_H

#include "common/requant.h"

/* value * 2^shift that stops at the ends of int32. */
static inline int32_t nnacl_saturating_left(int32_t value, int32_t shift) {
    const int64_t wide = (int64_t)value * ((int64_t)1 << shift);
    return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* The factor multiplier * 2^(*shift - 31) for value >= 0; 0 counts as 1. */
static inline int32_t nnacl_inverse_root(int32_t value, int32_t *shift) {
    if (value <= 1) {
        *shift = 0;
        return INT32_MAX;
    }
    int32_t right = 11;
    for (; value >= 1 << 29; value /= 4) {
        right++;
    }
    for (; value < 1 << 27; value *= 4) {
        right--;
    }
    /* With 3 integer bits: 1 is 2^28, value is between 1/4 and 1. */
    const int32_t half = nnacl_round_shift_away(value >> 1, 1);
    int32_t x = 1 << 28;
    for (int32_t i = 0; i < 5; i++) {
        const int32_t cube = nnacl_saturating_left(nnacl_mul_high(nnacl_mul_high(x, x), x), 6);
        x = nnacl_saturating_left(nnacl_mul_high(3 << 27, x) - nnacl_mul_high(half, cube), 3);
    }
    x = nnacl_mul_high(x, 1518500250); /* sqrt(1/2) */
    *shift = right < 0 ? 0 : -right;
    return right < 0 ? nnacl_shift_left(x, -right) : x;
}

#endif
