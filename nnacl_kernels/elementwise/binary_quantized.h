/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of add, sub, mul and prelu of quantized integers, for one element of s8 or s16. */
#ifndef NNACL_BINARY_QUANTIZED_H
#define NNACL_BINARY_QUANTIZED_H

#include "common/requant.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* An operand of add or sub in the common scale. */
static inline int32_t nnacl_binary_rescale(int32_t value, int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const int32_t shifted = nnacl_shift_left(value, p->left_shift);
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_TFLITE_DOWN) && shift < 0) {
        return nnacl_mul_high(shifted, mult) >> (shift < -31 ? 31 : -shift);
    }
    return nnacl_requant(shifted, mult, shift, p->rounding);
}

static inline int32_t nnacl_binary_finish(int32_t value, int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const int32_t scaled = nnacl_requant(value, mult, shift, p->rounding);
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

static inline int32_t nnacl_binary_finish_float(float value, const nnacl_binary_params *p) {
    return nnacl_round_even(value / p->y_scale, p->q_min - p->y_zero, p->q_max - p->y_zero) + p->y_zero;
}

static inline int32_t nnacl_binary_sum(int32_t a, int32_t b, int32_t sign, const nnacl_binary_params *p) {
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return nnacl_binary_finish_float(p->a_scale * (float)a + (float)sign * (p->b_scale * (float)b), p);
    }
    const int32_t left = nnacl_binary_rescale(a, p->a_mult, p->a_shift, p);
    const int32_t right = nnacl_binary_rescale(b, p->b_mult, p->b_shift, p);
    const uint32_t total = sign > 0 ? (uint32_t)left + (uint32_t)right : (uint32_t)left - (uint32_t)right;
    return nnacl_binary_finish((int32_t)total, p->y_mult, p->y_shift, p);
}

/* Under an integer rounding s16 has no zero points, so that the product fits. */
static inline int32_t nnacl_binary_product(int32_t a, int32_t b, const nnacl_binary_params *p) {
    return NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)
               ? nnacl_binary_finish_float((p->a_scale * (float)a) * (p->b_scale * (float)b), p)
               : nnacl_binary_finish(a * b, p->y_mult, p->y_shift, p);
}

static inline int32_t nnacl_binary_positive(int32_t a, const nnacl_binary_params *p) {
    return NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN) ? nnacl_binary_finish_float(p->a_scale * (float)a, p)
                                                             : nnacl_binary_finish(a, p->a_mult, p->a_shift, p);
}

static inline int32_t nnacl_binary_prelu(int32_t a, int32_t b, const nnacl_binary_params *p) {
    return a > 0 ? nnacl_binary_positive(a, p) : nnacl_binary_product(a, b, p);
}

#define NNACL_BINARY_SUM(symbol, type, sign)                                                                           \
    NNACL_BROADCAST_KERNEL(symbol, nnacl_binary_params, type, type,                                                    \
                           (type)nnacl_binary_sum(a - p->a_zero, b - p->b_zero, sign, p))

/* `rule` of the numbers without their zero points. */
#define NNACL_BINARY_SCALED(symbol, type, rule)                                                                        \
    NNACL_BROADCAST_KERNEL(symbol, nnacl_binary_params, type, type, (type)rule(a - p->a_zero, b - p->b_zero, p))

#endif
