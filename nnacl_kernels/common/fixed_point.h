/* SPDX-License-Identifier: Apache-2.0 */
/* Logistic function and hyperbolic tangent of 16-bit fixed-point numbers, with the arithmetic of gemmlowp that LiteRT's
 * integer kernels use: every intermediate result is a 16-bit number in a stated format, every product is rounded with
 * halves up. Qm.n: m integer and n fractional bits beside the sign, m + n = 15. Mirrored in NumPy by
 * microlith/ops/fixed_point.py. */
#ifndef NNACL_FIXED_POINT_H
#define NNACL_FIXED_POINT_H

#include "common/requant.h"

#define NNACL_Q15_ONE 32767 /* the largest number, which stands for 1 in Q0.15 */

/* Modulo 2^16, -32768 .. 32767. */
static inline int32_t nnacl_wrap_s16(int32_t value) {
    return (int32_t)(((uint32_t)value + 0x8000u) & 0xffffu) - 0x8000;
}

static inline int32_t nnacl_saturate_s16(int32_t value) {
    return nnacl_clamp_s32(value, -32768, 32767);
}

/* The product of two 16-bit numbers over 2^15; in Q formats the integer bits add up. */
static inline int32_t nnacl_mul_s16(int32_t a, int32_t b) {
    return nnacl_clamp_s32((a * b + 0x4000) >> 15, -32768, 32767);
}

/* value * 2^shift that stops at the ends of 16 bits; values beyond the last exact one go to the end. */
static inline int32_t nnacl_saturating_left_s16(int32_t value, int32_t shift) {
    const int32_t most = (1 << (15 - shift)) - 1;
    return value > most ? 32767 : value < -most ? -32768 : value * (1 << shift);
}

/* From m to 0 integer bits. */
static inline int32_t nnacl_to_q15(int32_t value, int32_t integer_bits) {
    return integer_bits == 0 ? value : nnacl_saturating_left_s16(value, integer_bits);
}

/* e^a for -1/4 <= a < 0, Q0.15: a Taylor series around -1/8. */
static inline int32_t nnacl_exp_quarter_q15(int32_t a) {
    const int32_t middle = 28918 /* e^(-1/8) */, third = 10923;
    const int32_t x = nnacl_wrap_s16(a + 4096);
    const int32_t x2 = nnacl_mul_s16(x, x), x3 = nnacl_mul_s16(x2, x), x4 = nnacl_mul_s16(x2, x2);
    const int32_t cubic = nnacl_wrap_s16(nnacl_round_shift_away(x4, 2) + x3);
    const int32_t tail = nnacl_round_shift_away(nnacl_wrap_s16(nnacl_mul_s16(cubic, third) + x2), 1);
    return nnacl_saturate_s16(middle + nnacl_mul_s16(middle, nnacl_wrap_s16(x + tail)));
}

/* e^a for a <= 0 with 0 .. 7 integer bits, in Q0.15: what is left of a quarter, times a factor for each bit above. */
static inline int32_t nnacl_exp_q15(int32_t a, int32_t integer_bits) {
    /* e^(-1/4), e^(-1/2), e^-1, e^-2, e^-4, e^-8, e^-16 */
    static const int16_t factors[] = {25520, 19875, 12055, 4435, 600, 11, 0};
    const int32_t quarter = 1 << (13 - integer_bits);
    const int32_t rest = nnacl_wrap_s16((a & (quarter - 1)) - quarter);
    const int32_t above = nnacl_wrap_s16(rest - a);
    int32_t result = nnacl_exp_quarter_q15(nnacl_to_q15(rest, integer_bits));
    for (int32_t i = 0; i < integer_bits + 2 && i < 7; i++) {
        result = above & (quarter << i) ? nnacl_mul_s16(result, factors[i]) : result;
    }
    if (integer_bits > 5 && a < -(1 << (20 - integer_bits))) { /* below -32 */
        result = 0;
    }
    return a == 0 ? NNACL_Q15_ONE : result;
}

/* 2 / (1 + a) in Q2.13 for 0 <= a < 1 in Q0.15, by three steps of Newton's method. */
static inline int32_t nnacl_reciprocal_q13(int32_t a) {
    const int32_t half = (a + NNACL_Q15_ONE + 1) >> 1;
    int32_t x = nnacl_wrap_s16(23130 /* 48 / 17 */ + nnacl_mul_s16(half, -15420 /* -32 / 17 */));
    for (int32_t i = 0; i < 3; i++) {
        const int32_t missing = nnacl_wrap_s16(8192 - nnacl_mul_s16(half, x));
        x = nnacl_wrap_s16(x + nnacl_saturating_left_s16(nnacl_mul_s16(x, missing), 2));
    }
    return x;
}

/* 1 / (1 + e^-a) of a in Q3.12, in Q0.15. */
static inline int32_t nnacl_logistic_q15(int32_t a) {
    if (a == 0) {
        return 16384;
    }
    const int32_t x = nnacl_reciprocal_q13(nnacl_exp_q15(a > 0 ? -a : a, 3));
    const int32_t positive = nnacl_saturating_left_s16(x, 1);
    return a > 0 ? positive : NNACL_Q15_ONE - positive;
}

/* tanh(a) of a with 0 .. 6 integer bits, in Q0.15. */
static inline int32_t nnacl_tanh_q15(int32_t a, int32_t integer_bits) {
    if (a == 0) {
        return 0;
    }
    /* With one more integer bit the same number stands for 2 a. */
    const int32_t x = nnacl_reciprocal_q13(nnacl_exp_q15(a > 0 ? -a : a, integer_bits + 1));
    const int32_t result = nnacl_saturating_left_s16(nnacl_wrap_s16(x - 8192), 2);
    return a < 0 ? nnacl_wrap_s16(-result) : result;
}

#endif
