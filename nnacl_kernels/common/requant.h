/* SPDX-License-Identifier: Apache-2.0 */
/* How an int32 accumulator becomes a narrow integer: the three rounding contracts. Mirrored in NumPy by
 * microlith/numerics.py. Defined for every argument: no shift or overflow is undefined behaviour.
 *
 * A real factor is multiplier * 2^(shift - 31), multiplier in 0 .. 2^31 - 1, shift positive to the left.
 */
#ifndef NNACL_REQUANT_H
#define NNACL_REQUANT_H

#include "nnacl_base.h"

#include <assert.h>

static inline int32_t nnacl_clamp_s32(int32_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : value;
}

/* a + b and a - b that stop at the ends of int32. */
static inline int32_t nnacl_add_saturate(int32_t a, int32_t b) {
    const int64_t sum = (int64_t)a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

static_assert((-1 >> 1) == -1, "the compiler shifts negative numbers arithmetically");

/* value * 2^shift modulo 2^32, shift 0 .. 31. */
static inline int32_t nnacl_shift_left(int32_t value, int32_t shift) {
    return (int32_t)((uint32_t)value << shift);
}

/* value / 2^shift, halves away from zero, shift >= 0. */
static inline int32_t nnacl_round_shift_away(int32_t value, int32_t shift) {
    if (shift > 31) {
        return 0;
    }
    const uint32_t mask = ((uint32_t)1 << shift) - 1;
    return (value >> shift) + (((uint32_t)value & mask) > (mask >> 1) + (value < 0));
}

/* a * b / 2^31, halves up, saturated. */
static inline int32_t nnacl_mul_high(int32_t a, int32_t b) {
    const int64_t high = ((int64_t)a * b + ((int64_t)1 << 30)) >> 31;
    return high > INT32_MAX ? INT32_MAX : (int32_t)high;
}

/* The same where b is a multiplier, with which no product is too large. */
static inline int32_t nnacl_scale_high(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* Contract tflite-double: left shift modulo 2^32, rounding high product, rounding right shift. */
static inline int32_t nnacl_requant_double(int32_t value, int32_t multiplier, int32_t shift) {
    if (shift > 0) {
        return nnacl_scale_high(nnacl_shift_left(value, shift > 31 ? 31 : shift), multiplier);
    }
    return nnacl_round_shift_away(nnacl_scale_high(value, multiplier), shift < -62 ? 62 : -shift);
}

/* The same with halves up in the right shift. */
static inline int32_t nnacl_requant_double_up(int32_t value, int32_t multiplier, int32_t shift) {
    if (shift >= 0) {
        return nnacl_requant_double(value, multiplier, shift);
    }
    if (shift < -31) {
        return 0;
    }
    const int32_t high = nnacl_scale_high(value, multiplier);
    return (high >> -shift) + (high >> (-shift - 1) & 1);
}

/* Contract single: one 64-bit product, one rounding shift (halves up), saturated. */
static inline int32_t nnacl_requant_single(int32_t value, int32_t multiplier, int32_t shift) {
    if (shift < -31) {
        return 0; /* |product| <= 2^62 is at most half of the divisor */
    }
    const int32_t right = shift > 30 ? 1 : 31 - shift;
    const int64_t result = ((int64_t)value * multiplier + ((int64_t)1 << (right - 1))) >> right;
    return result > INT32_MAX ? INT32_MAX : result < INT32_MIN ? INT32_MIN : (int32_t)result;
}

/* By `rounding`, which is not float-even. */
static inline int32_t nnacl_requant(int32_t value, int32_t multiplier, int32_t shift, int32_t rounding) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_SINGLE)) {
        return nnacl_requant_single(value, multiplier, shift);
    }
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP) || NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP_BY_8)) {
        return nnacl_requant_double_up(value, multiplier, shift);
    }
    return nnacl_requant_double(value, multiplier, shift);
}

/* The rounding of one channel: settles NNACL_ROUND_TFLITE_UP_BY_8. */
static inline int32_t nnacl_channel_rounding(int32_t rounding, int32_t channels, int32_t channel) {
    if (!NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_UP_BY_8)) {
        return rounding;
    }
    return channel < channels / 8 * 8 ? NNACL_ROUND_TFLITE_UP : NNACL_ROUND_TFLITE_DOUBLE;
}

/* value rounded to the nearest integer, halves to even, then clamped to low .. high, which are within +-2^21. NaN gives
 * low. */
static inline int32_t nnacl_round_even(float value, int32_t low, int32_t high) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: has no room for a fraction, so that the sum is rounded */
    float bounded = value > (float)low ? value : (float)low;
    bounded = bounded < (float)high ? bounded : (float)high;
    return (int32_t)((bounded + magic) - magic);
}

/* The same with halves away from zero. */
static inline int32_t nnacl_round_away(float value, int32_t low, int32_t high) {
    float bounded = value > (float)low ? value : (float)low;
    bounded = bounded < (float)high ? bounded : (float)high;
    const int32_t whole = (int32_t)bounded;    /* towards zero */
    const float rest = bounded - (float)whole; /* exact */
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* Contract float-even: float32 product, halves to even, plus the zero point, clamped to q_min .. q_max. */
static inline int32_t nnacl_requant_float(int32_t value, float scale, int32_t zero, int32_t q_min, int32_t q_max) {
    return nnacl_round_even((float)value * scale, q_min - zero, q_max - zero) + zero;
}

/* Channel `channel` of `channels`: applies the requant input of convolutions and dense (conv.h) to an accumulator. */
static inline int32_t nnacl_requant_channel(int32_t value, const void *requant, int32_t channels, int32_t channel,
                                            int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return nnacl_requant_float(value, ((const float *)requant)[channel], zero, q_min, q_max);
    }
    const int32_t *rows = (const int32_t *)requant;
    const int32_t scaled = nnacl_requant(value, rows[channel], rows[channels + channel],
                                         nnacl_channel_rounding(rounding, channels, channel));
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, zero), q_min, q_max);
}

#endif
