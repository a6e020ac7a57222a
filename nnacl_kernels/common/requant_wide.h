/* SPDX-License-Identifier: Apache-2.0 */
/* How an int64 accumulator of 16-bit activations becomes a narrow integer. Mirrored in NumPy by
 * numerics.requantize_wide. Defined for every argument; |value| below 2^62.
 *
 * tflite-double and the rules that refine it: as LiteRT and TFLM, the multiplier rounded to 15 bits, one product, one
 * rounding shift (halves up). single: the whole multiplier, one rounding shift (halves up). float-even: a float32
 * product, halves to even.
 */
#ifndef NNACL_REQUANT_WIDE_H
#define NNACL_REQUANT_WIDE_H

#include "common/requant.h"

static inline int32_t nnacl_saturate_s64(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* value / 2^shift, halves up; shift 1 .. 62. */
static inline int64_t nnacl_round_shift_s64(int64_t value, int32_t shift) {
    return (value >> shift) + (value >> (shift - 1) & 1);
}

static inline int32_t nnacl_requant_wide_tflite(int64_t value, int32_t multiplier, int32_t shift) {
    const int64_t limit = (int64_t)1 << 47; /* LiteRT asks for values in this range */
    const int32_t reduced = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
    const int32_t right = 15 - shift;
    if (right > 0 && right <= 62 && value == (int32_t)value) { /* nearly always: one short product, one shift */
        return nnacl_saturate_s64(((((int64_t)(int32_t)value * reduced) >> (right - 1)) + 1) >> 1);
    }
    const int64_t bounded = value > limit ? limit : value < -limit ? -limit : value;
    if (right <= 0) {
        return reduced == 0 || bounded == 0 ? 0 : bounded > 0 ? INT32_MAX : INT32_MIN;
    }
    return right > 62 ? 0 : nnacl_saturate_s64(nnacl_round_shift_s64(bounded * reduced, right));
}

/* The product has up to 93 bits: high * 2^32 + low. */
static inline int32_t nnacl_requant_wide_single(int64_t value, int32_t multiplier, int32_t shift) {
    const uint64_t tail = (uint64_t)(value & 0xffffffff) * (uint32_t)multiplier;
    const int64_t high = (value >> 32) * multiplier + (int64_t)(tail >> 32);
    const int64_t low = (int64_t)(tail & 0xffffffff);
    const int32_t right = 31 - shift;
    if (right > 93) {
        return 0;
    }
    if (right > 32) {
        return nnacl_saturate_s64(nnacl_round_shift_s64(high, right - 32));
    }
    if (right < 1 || high > INT32_MAX || high < INT32_MIN) {
        return high > 0 || (high == 0 && low > 0) ? INT32_MAX : high < 0 ? INT32_MIN : 0;
    }
    return nnacl_saturate_s64(nnacl_round_shift_s64(high * ((int64_t)1 << 32) + low, right));
}

/* By `rounding`, which is not float-even. */
static inline int32_t nnacl_requant_wide(int64_t value, int32_t multiplier, int32_t shift, int32_t rounding) {
    return NNACL_ROUNDS(rounding, NNACL_ROUND_SINGLE) ? nnacl_requant_wide_single(value, multiplier, shift)
                                                      : nnacl_requant_wide_tflite(value, multiplier, shift);
}

/* Channel `channel` of `channels`: applies the requant input of convolutions and dense (conv.h) to an accumulator. */
static inline int32_t nnacl_requant_wide_channel(int64_t value, const void *requant, int32_t channels, int32_t channel,
                                                 int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    if (NNACL_ROUNDS(rounding, NNACL_ROUND_FLOAT_EVEN)) {
        const float scaled = (float)value * ((const float *)requant)[channel];
        return nnacl_round_even(scaled, q_min - zero, q_max - zero) + zero;
    }
    const int32_t *rows = (const int32_t *)requant;
    const int32_t scaled = nnacl_requant_wide(value, rows[channel], rows[channels + channel], rounding);
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, zero), q_min, q_max);
}

#endif
