/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/binary_quantized.h"

/* a / b * y_mult * 2^(y_shift - 31) rounded once, halves up; |a| and |b| are at most 255, b is not 0. */
static int32_t exact_quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    const int32_t right = 31 - p->y_shift;
    if (right > 52) {
        return 0;
    }
    int64_t numerator = (int64_t)(b < 0 ? -a : a) * p->y_mult;
    const int64_t denominator = (int64_t)(b < 0 ? -b : b) * ((int64_t)1 << right);
    numerator = 2 * numerator + denominator;
    int64_t quotient = numerator / (2 * denominator);
    quotient -= numerator % (2 * denominator) < 0; /* towards minus infinity */
    return quotient > INT32_MAX ? INT32_MAX : quotient < INT32_MIN ? INT32_MIN : (int32_t)quotient;
}

/* Bits in front of the highest one of a number from 1 to 2^31 - 1, of 31. */
static int32_t free_bits(int32_t value) {
    int32_t bits = 0;
    while (value < (1 << 30)) {
        value *= 2;
        bits++;
    }
    return bits;
}

/* value * 4, saturated. */
static int32_t times_4(int32_t value) {
    const int32_t limit = (1 << 29) - 1;
    return value > limit ? INT32_MAX : value < -limit ? INT32_MIN : value * 4;
}

/* 1 / (1 + x) for x in 0 .. 1, all in Q31, by three steps of Newton and Raphson on numbers in Q29. */
static int32_t reciprocal(int32_t x) {
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t y = 1515870810 + nnacl_mul_high(half, -1010580540); /* 48 / 17 and -32 / 17 */
    for (int32_t step = 0; step < 3; step++) {
        const int32_t rest = (1 << 29) - nnacl_mul_high(half, y);
        y += times_4(nnacl_mul_high(y, rest));
    }
    const int32_t limit = (1 << 30) - 1;
    return y > limit ? INT32_MAX : y < -limit ? INT32_MIN : y * 2;
}

/* The same quotient as LiteRT's built-in kernel computes it. */
static int32_t tflite_quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    a = b < 0 ? -a : a;
    b = b < 0 ? -b : b;
    if (a == 0) {
        return 0;
    }
    const int32_t b_bits = free_bits(b), a_bits = free_bits(a < 0 ? (a == -1 ? 1 : -a - 1) : a);
    const int32_t inverse = reciprocal((int32_t)((uint32_t)b << (b_bits + 1) & INT32_MAX));
    const int32_t quotient = nnacl_mul_high(nnacl_shift_left(a, a_bits), inverse);
    const int32_t shift = p->y_shift - (30 - b_bits) - a_bits;
    return nnacl_requant_double(quotient, p->y_mult, shift);
}

static int32_t quotient(int32_t a, int32_t b, const nnacl_binary_params *p) {
    if (b == 0) {
        return a == 0 ? p->y_zero : a > 0 ? p->q_max : p->q_min;
    }
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return nnacl_binary_finish_float((p->a_scale * (float)a) / (p->b_scale * (float)b), p);
    }
    const int32_t scaled = p->rounding == NNACL_ROUND_SINGLE ? exact_quotient(a, b, p) : tflite_quotient(a, b, p);
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

NNACL_BINARY_SCALED(nnacl_div_s8_c, int8_t, quotient)
