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

/* A product of two 16-bit numbers over 2^shift, halves away from zero; shift 1 .. 30. */
static inline int32_t nnacl_round_product(int32_t product, int32_t shift) {
    return (product + (product >> 31) + (1 << (shift - 1))) >> shift;
}

/* The product of two 16-bit numbers over 2^15; in Q formats the integer bits add up. The first is for b within -16384
 * .. 16383, the second for b within 16384 .. 32767: fixed_point_dsp.h brings its own. */
#ifndef NNACL_MUL_S16
#define NNACL_MUL_S16(a, b) (((a) * (b) + 0x4000) >> 15)
#define NNACL_MUL_LARGE_S16(a, b) NNACL_MUL_S16(a, b)
#endif

/* The functions below leave out the saturation of gemmlowp where no argument reaches it. */

/* e^a for -1/4 <= a < 0, Q0.15: a Taylor series around -1/8. */
static inline int32_t nnacl_exp_quarter_q15(int32_t a) {
    const int32_t middle = 28918 /* e^(-1/8) */, third = 10923;
    const int32_t x = a + 4096;
    const int32_t x2 = NNACL_MUL_S16(x, x), x3 = NNACL_MUL_S16(x2, x), x4 = NNACL_MUL_S16(x2, x2);
    const int32_t cubic = ((x4 + 2) >> 2) + x3;
    const int32_t tail = (NNACL_MUL_S16(cubic, third) + x2 + 1) >> 1; /* of a number that is not negative */
    return middle + NNACL_MUL_LARGE_S16(x + tail, middle);
}

/* e^a for a < 0 with 1 .. 7 integer bits, in Q0.15: what is left of a quarter, times a factor for each bit above. */
static inline int32_t nnacl_exp_q15(int32_t a, int32_t integer_bits) {
    const int32_t quarter = 1 << (13 - integer_bits);
    const int32_t rest = (a & (quarter - 1)) - quarter;
    int32_t result = nnacl_exp_quarter_q15(rest * (1 << integer_bits));
    if (integer_bits > 5 && a < -(1 << (20 - integer_bits))) { /* below -32 */
        return 0;
    }
    const int32_t quarters = (rest - a) >> (13 - integer_bits);
    result = quarters & 1 ? NNACL_MUL_LARGE_S16(result, 25520) : result; /* e^(-1/4) */
    result = quarters & 2 ? NNACL_MUL_LARGE_S16(result, 19875) : result;
    result = quarters & 4 ? NNACL_MUL_S16(result, 12055) : result;
    result = quarters & 8 ? NNACL_MUL_S16(result, 4435) : result;
    result = quarters & 16 ? NNACL_MUL_S16(result, 600) : result;
    if (integer_bits > 3) {
        result = quarters & 32 ? NNACL_MUL_S16(result, 11) : result; /* e^-8 */
        result = quarters & 64 ? 0 : result;                         /* e^-16 */
    }
    return result;
}

/* 2 / (1 + a) in Q2.13 for 0 <= a < 1 in Q0.15, by three steps of Newton's method. */
static inline int32_t nnacl_reciprocal_q13(int32_t a) {
    const int32_t half = (a + NNACL_Q15_ONE + 1) >> 1;
    int32_t x = 23130 /* 48 / 17 */ + NNACL_MUL_S16(half, -15420 /* -32 / 17 */);
    x += 4 * NNACL_MUL_S16(x, 8192 - NNACL_MUL_LARGE_S16(x, half));
    x += 4 * NNACL_MUL_S16(x, 8192 - NNACL_MUL_LARGE_S16(x, half));
    x += 4 * NNACL_MUL_S16(x, 8192 - NNACL_MUL_LARGE_S16(x, half));
    return x;
}

/* 1 / (1 + e^-a) of a in Q3.12, in Q0.15. */
static inline int32_t nnacl_logistic_q15(int32_t a) {
    if (a == 0) {
        return 16384;
    }
    const int32_t twice = 2 * nnacl_reciprocal_q13(nnacl_exp_q15(a > 0 ? -a : a, 3));
    const int32_t positive = twice < NNACL_Q15_ONE ? twice : NNACL_Q15_ONE;
    return a > 0 ? positive : NNACL_Q15_ONE - positive;
}

/* tanh(a) of a with 0 .. 6 integer bits, in Q0.15. */
static inline int32_t nnacl_tanh_q15(int32_t a, int32_t integer_bits) {
    if (a == 0) {
        return 0;
    }
    /* With one more integer bit the same number stands for 2 a. */
    const int32_t four = 4 * (nnacl_reciprocal_q13(nnacl_exp_q15(a > 0 ? -a : a, integer_bits + 1)) - 8192);
    const int32_t result = four < NNACL_Q15_ONE ? four : NNACL_Q15_ONE;
    return a < 0 ? -result : result;
}

#endif
