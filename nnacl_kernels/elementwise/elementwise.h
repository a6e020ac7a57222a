/* Elementwise families. Each op is a row of its own; the ops of a family share a parameter struct.
 *
 * unary (x -> y, same shape): relu sigmoid tanh exp log sqrt rsqrt neg abs floor ceil round sin cos erf gelu
 *   softplus hard_sigmoid hard_swish silu reciprocal sign square (f32), leaky_relu (alpha), elu (alpha),
 *   clip (min = alpha, max = beta), relu s8 is a clip in the integers and lives in requantize.
 *   hard_sigmoid: clamp(alpha * x + beta, 0, 1). gelu: exact (erf) form when alpha is 0, tanh form when 1.
 * lut: y[i] = table[x[i] + 128]; inputs 0 x (s8), 1 table [256] (s8). How every s8 unary function runs.
 * binary (a, b -> y, numpy broadcasting): add sub mul div max min pow squared_difference (f32; add sub mul max min
 *   also s32 and s64; add sub mul s8). prelu: a > 0 ? a : a * b.
 *
 * s8 add and sub (all rounding per `rounding`; under float-even the multipliers are not used but the scales):
 *   y = clamp(requant(requant((a - a_zero) << left_shift, a_mult, a_shift) +-
 *                     requant((b - b_zero) << left_shift, b_mult, b_shift), y_mult, y_shift) + y_zero)
 * s8 mul: y = clamp(requant((a - a_zero) * (b - b_zero), y_mult, y_shift) + y_zero).
 * float-even: y = clamp(round_half_even(a_scale * (a - a_zero) +- b_scale * (b - b_zero)) / y_scale) + y_zero) in
 *   float32 (mul: the product).
 */
#ifndef NNACL_ELEMENTWISE_H
#define NNACL_ELEMENTWISE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_unary_params {
    /* attributes */
    float alpha, beta;
    /* shapes, derived */
    int32_t count;
} nnacl_unary_params;

typedef struct nnacl_binary_params {
    /* attributes */
    float clamp_min, clamp_max; /* f32 */
    int32_t a_zero, b_zero, y_zero;
    int32_t left_shift;
    int32_t a_mult, a_shift, b_mult, b_shift, y_mult, y_shift;
    float a_scale, b_scale, y_scale;
    int32_t q_min, q_max;
    int32_t rounding;
    /* shapes, derived; dimensions that broadcast alike are merged, so that equal shapes have rank 1 */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t a_strides[NNACL_MAX_RANK], b_strides[NNACL_MAX_RANK]; /* in elements; 0: repeated */
} nnacl_binary_params;

#ifdef __cplusplus
}
#endif

#endif
