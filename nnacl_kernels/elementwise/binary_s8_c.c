/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* An operand of add or sub in the common scale. */
static inline int32_t rescale(int32_t value, int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const int32_t shifted = nnacl_shift_left(value, p->left_shift);
    if (p->rounding == NNACL_ROUND_TFLITE_DOWN && shift < 0) {
        return nnacl_mul_high(shifted, mult) >> (shift < -31 ? 31 : -shift);
    }
    return nnacl_requant(shifted, mult, shift, p->rounding);
}

static inline int8_t finish(int32_t value, int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const int32_t scaled = nnacl_requant(value, mult, shift, p->rounding);
    return (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

static inline int8_t finish_float(float value, const nnacl_binary_params *p) {
    return (int8_t)(nnacl_round_even(value / p->y_scale, p->q_min - p->y_zero, p->q_max - p->y_zero) + p->y_zero);
}

static inline int8_t sum(int32_t a, int32_t b, int32_t sign, const nnacl_binary_params *p) {
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return finish_float(p->a_scale * (float)a + (float)sign * (p->b_scale * (float)b), p);
    }
    const int32_t left = rescale(a, p->a_mult, p->a_shift, p);
    const int32_t right = rescale(b, p->b_mult, p->b_shift, p);
    const uint32_t total = sign > 0 ? (uint32_t)left + (uint32_t)right : (uint32_t)left - (uint32_t)right;
    return finish((int32_t)total, p->y_mult, p->y_shift, p);
}

static inline int8_t product(int32_t a, int32_t b, const nnacl_binary_params *p) {
    return p->rounding == NNACL_ROUND_FLOAT_EVEN ? finish_float((p->a_scale * (float)a) * (p->b_scale * (float)b), p)
                                                 : finish(a * b, p->y_mult, p->y_shift, p);
}

static inline int8_t positive(int32_t a, const nnacl_binary_params *p) {
    return p->rounding == NNACL_ROUND_FLOAT_EVEN ? finish_float(p->a_scale * (float)a, p)
                                                 : finish(a, p->a_mult, p->a_shift, p);
}

#define BINARY(op, expression)                                                                                         \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_s8_c, nnacl_binary_params, int8_t, int8_t, expression)

BINARY(add, sum(a - p->a_zero, b - p->b_zero, 1, p))
BINARY(sub, sum(a - p->a_zero, b - p->b_zero, -1, p))
BINARY(mul, product(a - p->a_zero, b - p->b_zero, p))
BINARY(prelu, a > p->a_zero ? positive(a - p->a_zero, p) : product(a - p->a_zero, b - p->b_zero, p))
BINARY(max, a > b ? a : b)
BINARY(min, a < b ? a : b)
