/* SPDX-License-Identifier: Apache-2.0 */
/* The quotient of two quantized integers of s8 or s16. */
#ifndef NNACL_DIV_QUANTIZED_H
#define NNACL_DIV_QUANTIZED_H

#include "elementwise/binary_quantized.h"

/* a / b * y_mult * 2^(y_shift - 31) rounded once, halves up; |a| and |b| are at most 2^16, b is not 0. */
static inline int32_t nnacl_div_exact_quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    const int32_t right = 31 - p->y_shift;
    if (right > 52) {
        return 0;
    }
    const int64_t twice = 2 * (int64_t)(b < 0 ? -a : a) * p->y_mult, divisor = b < 0 ? -b : b;
    int64_t quotient = twice / divisor;
    quotient -= twice % divisor < 0; /* towards minus infinity, and so is the shift: what is cut off decides nothing */
    quotient = (quotient + ((int64_t)1 << right)) >> (right + 1);
    return quotient > INT32_MAX ? INT32_MAX : quotient < INT32_MIN ? INT32_MIN : (int32_t)quotient;
}

/* Bits in front of the highest one of a number from 1 to 2^31 - 1, of 31. */
static inline int32_t nnacl_div_free_bits(int32_t value) {
    int32_t bits = 0;
    while (value < (1 << 30)) {
        value *= 2;
        bits++;
    }
    return bits;
}

/* value * 4, saturated. */
static inline int32_t nnacl_div_times_4(int32_t value) {
    const int32_t limit = (1 << 29) - 1;
    return value > limit ? INT32_MAX : value < -limit ? INT32_MIN : value * 4;
}

/* 1 / (1 + x) for x in 0 .. 1, all in Q31, by three steps of Newton and Raphson on numbers in Q29. */
static inline int32_t nnacl_div_reciprocal(int32_t x) {
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t y = 1515870810 + nnacl_mul_high(half, -1010580540); /* 48 / 17 and -32 / 17 */
    for (int32_t step = 0; step < 3; step++) {
        const int32_t rest = (1 << 29) - nnacl_mul_high(half, y);
        y += nnacl_div_times_4(nnacl_mul_high(y, rest));
    }
    const int32_t limit = (1 << 30) - 1;
    return y > limit ? INT32_MAX : y < -limit ? INT32_MIN : y * 2;
}

/* The same quotient as LiteRT's built-in kernel computes it. */
static inline int32_t nnacl_div_tflite_quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    a = b < 0 ? -a : a;
    b = b < 0 ? -b : b;
    if (a == 0) {
        return 0;
    }
    const int32_t b_bits = nnacl_div_free_bits(b), a_bits = nnacl_div_free_bits(a < 0 ? (a == -1 ? 1 : -a - 1) : a);
    const int32_t inverse = nnacl_div_reciprocal((int32_t)((uint32_t)b << (b_bits + 1) & INT32_MAX));
    const int32_t quotient = nnacl_mul_high(nnacl_shift_left(a, a_bits), inverse);
    const int32_t shift = p->y_shift - (30 - b_bits) - a_bits;
    return nnacl_requant_double(quotient, p->y_mult, shift);
}

static inline int32_t nnacl_div_quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    if (b == 0) {
        return a == 0 ? p->y_zero : a > 0 ? p->q_max : p->q_min;
    }
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return nnacl_binary_finish_float((p->a_scale * (float)a) / (p->b_scale * (float)b), p);
    }
    const int32_t scaled =
        p->rounding == NNACL_ROUND_SINGLE ? nnacl_div_exact_quotient(a, b, p) : nnacl_div_tflite_quotient(a, b, p);
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

#endif
