/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop and the ends of the convolutions and dense of 16-bit activations. */
#ifndef NNACL_DOT_S16_H
#define NNACL_DOT_S16_H

#include "common/requant_wide.h"

/* value * (weight - zero), modulo 2^32: it has at most 26 bits where the zero point is one of bytes, which nobody has
 * checked where it comes from a tensor that is no constant. */
static inline int32_t nnacl_product_s16(int32_t value, int32_t weight, int32_t zero) {
    return (int32_t)((uint32_t)value * ((uint32_t)weight - (uint32_t)zero));
}

/* sum + the products (x[i] - x_zero) * (w[i] - w_zero). */
static inline int64_t nnacl_dot_s16(int64_t sum, const int16_t *x, const int8_t *w, int32_t count, int32_t x_zero,
                                    int32_t w_zero) {
    for (int32_t i = 0; i < count; i++) {
        sum += nnacl_product_s16(x[i] - x_zero, w[i], w_zero);
    }
    return sum;
}

/* The bias of a channel. has_bias 0: none, 1: s32, 2: s64, of which what no sum can reach is cut off. */
static inline int64_t nnacl_bias_s16(const void *bias, int32_t has_bias, int32_t channel) {
    const int64_t most = (int64_t)1 << 60;
    if (has_bias == 2) {
        const int64_t value = ((const int64_t *)bias)[channel];
        return value > most ? most : value < -most ? -most : value;
    }
    return has_bias ? ((const int32_t *)bias)[channel] : 0;
}

/* A sum as an output. With a bias of s32 LiteRT computes in 32 bits. */
static inline int16_t nnacl_finish_s16(int64_t sum, int32_t has_bias, const void *requant, int32_t channels,
                                       int32_t channel, int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    if (has_bias == 1) {
        return (int16_t)nnacl_requant_channel((int32_t)(uint32_t)(uint64_t)sum, requant, channels, channel, rounding,
                                              zero, q_min, q_max);
    }
    return (int16_t)nnacl_requant_wide_channel(sum, requant, channels, channel, rounding, zero, q_min, q_max);
}

#endif
