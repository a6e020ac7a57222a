/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of the kernels of 16-bit activations on cores with the DSP extension: dot_s16.h, and the common case of it
 * in one product. */
#ifndef NNACL_FINISH_S16_DSP_H
#define NNACL_FINISH_S16_DSP_H

#include "common/dot_s16.h"

/* What is the same for all channels of a layer. */
typedef struct nnacl_ends_s16 {
    const void *bias, *requant;
    int32_t has_bias, channels, rounding, zero, q_min, q_max;
} nnacl_ends_s16;

static inline int64_t nnacl_bias_s16_dsp(const nnacl_ends_s16 *ends, int32_t channel) {
    if (ends->has_bias == 2) {
        const int64_t value = ((const int64_t *)ends->bias)[channel];
        if ((uint32_t)((uint64_t)value >> 32) + 0x10000000u < 0x20000000u) { /* within 2^60 */
            return value;
        }
    }
    return nnacl_bias_s16(ends->bias, ends->has_bias, channel);
}

/* Sums of 32 bits under LiteRT's rule take one product of 15 bits and a rounding shift by 16 to 32 bits: that is the
 * rounded upper half of a product of 32 bits, with this factor. 0 where it is not so. */
static inline int32_t nnacl_factor_s16_dsp(const nnacl_ends_s16 *ends, int32_t channel) {
    const int32_t *rows = (const int32_t *)ends->requant;
    if (ends->has_bias == 1 || NNACL_ROUNDS(ends->rounding, NNACL_ROUND_SINGLE) ||
        NNACL_ROUNDS(ends->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return 0;
    }
    const uint32_t left = (uint32_t)(rows[ends->channels + channel] + 17);
    const int32_t multiplier = rows[channel];
    const int32_t reduced = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
    return left <= 16 ? (int32_t)((uint32_t)reduced << left) : 0;
}

/* Whatever the sum. */
int16_t nnacl_finish_exact_s16(const nnacl_ends_s16 *ends, int64_t sum, int32_t channel);

static inline int16_t nnacl_finish_s16_dsp(const nnacl_ends_s16 *ends, int32_t factor, int64_t sum, int32_t channel) {
    const int32_t low = (int32_t)(uint32_t)(uint64_t)sum;
    if (factor && sum == low) {
        int32_t scaled;
        __asm__("smmulr %0, %1, %2" : "=r"(scaled) : "r"(low), "r"(factor));
        return (int16_t)nnacl_clamp_s32(scaled + ends->zero, ends->q_min, ends->q_max);
    }
    return nnacl_finish_exact_s16(ends, sum, channel);
}

#endif
