/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise families. Each op is a row of its own; the ops of a family share a parameter struct.
 *
 * unary (x -> y, same shape; NaN stays NaN, integers wrap):
 *   relu neg abs square sign sqrt rsqrt reciprocal floor ceil round (f32 f64; neg abs square sign also s32 s64);
 *   round: halves to even. clip (min = alpha, max = beta), leaky_relu (alpha) (f32 f64).
 *   sigmoid tanh exp log sin cos tan asin acos atan sinh cosh asinh acosh atanh erf softplus softsign silu mish (f32).
 *   gelu (f32): exact (erf) form when alpha is 0, tanh form when 1. swish: x sigmoid(alpha x). elu, celu (alpha).
 *   selu: beta elu(x, alpha). hard_sigmoid: clamp(alpha * x + beta, 0, 1). hard_swish: x * clamp(x + 3, 0, 6) / 6.
 *   thresholded_relu: x above alpha, else 0. shrink: x + beta below -alpha, x - beta above alpha, else 0.
 *   is_nan, is_inf (f32 f64 -> b8): is_inf finds -inf when alpha is not 0, +inf when beta is not 0.
 *   logical_not (b8), bitwise_not (all integers).
 * f16, computed in f32 or f16 and rounded: relu leaky_relu clip hard_sigmoid hard_swish sigmoid silu tanh gelu elu, and
 * of the binary ones add sub mul div max min. lut: y[i] = table[x[i] + 128]; inputs 0 x (s8), 1 table [256] (s8). Of
 * s16: a curve of 513 points, one at each 128th x, straight between them (common/curve_s16.h). How every unary function
 * of integers runs; relu is a clip in the integers and lives in requantize. binary (a, b -> y, numpy broadcasting): add
 * sub mul div max min mod fmod (f32 f64 s32 s64 u64), squared_difference (f32 f64 s32 s64), pow (f32 s32 s64), prelu
 * (f32 f64): a > 0 ? a : a * b; add sub mul div prelu also s8 s16; max min also s8 s16 where a, b and y are quantized
 * alike. mod has the sign of the divisor, fmod that of the dividend. Integers wrap; integer div truncates and so does
 * pow with a negative exponent; integer div, mod and fmod by 0 give 0. clamp_min and clamp_max apply to every f32 and
 * f64 op of the family. compare (a, b -> y b8, broadcasting): equal not_equal less less_equal greater greater_equal
 * (f32 f64 s8 u8 s32 s64 u64; equal and not_equal also b8), logical_and logical_or logical_xor (b8; any byte but 0 is
 * true). bitwise_and bitwise_or bitwise_xor bit_shift_left bit_shift_right (a, b -> y, broadcasting): all integers. A
 * shift by as many places as there are bits, or by a negative number, leaves 0, or the sign when a signed number goes
 * to the right. sigmoid_table (s16): the logistic function, or the hyperbolic tangent where `tanh` is 1, as LiteRT
 * computes them: x * mult / 2^shift is x in steps of 1 / (24 * 512) (tanh: of 2 x in steps of 1 / (24 * 256)); input 1
 * is u16 [256], the values of the logistic function at i / 24 in steps of 2^-16, between which is interpolated; y has
 * steps of 2^-15. With mult 0, x * 2^shift (0 or 1) is in steps of 2^-12 and the functions are those of
 * common/fixed_point.h. where (condition b8, a, b -> y, broadcasting): condition ? a : b, any type.
 *
 * s8 add and sub (all rounding per `rounding`; under float-even the multipliers are not used but the scales):
 *   y = clamp(requant(requant((a - a_zero) << left_shift, a_mult, a_shift) +-
 *                     requant((b - b_zero) << left_shift, b_mult, b_shift), y_mult, y_shift) + y_zero)
 * s8 mul: y = clamp(requant((a - a_zero) * (b - b_zero), y_mult, y_shift) + y_zero).
 * s8 prelu: y = clamp((a > a_zero ? requant(a - a_zero, a_mult, a_shift) : that of mul) + y_zero).
 * s8 div: y = clamp((a - a_zero) / (b - b_zero) * y_mult * 2^(y_shift - 31) + y_zero), under single rounded once,
 * halves up; under tflite-double as LiteRT computes it, with a reciprocal in Q31. By 0: q_max, q_min, and y_zero for 0
 * / 0. float-even: y = clamp(round_half_even((a_scale * (a - a_zero) +- b_scale * (b - b_zero)) / y_scale) + y_zero) in
 *   float32 (mul: the product; div: the quotient; prelu: the one or the other).
 * s16 as s8; but under float-even the operands have no zero points.
 *
 * fused_elementwise: a chain or tree of the ops above as one. inputs 0 .. n - 1 (f32 or b8, the first f32; broadcast
 * together) -> y (f32). `steps` is a straight-line program; its last value is y. A step applies one function of
 * fused_functions.def to the whole shape of y: function | a << 8 | b << 16 | c << 24, where an operand is an input
 * (0 .. 7), the result of an earlier step (8 + its number) or a constant (32 + its place). Functions of one operand
 * have their alpha and beta, both constants, as b and c; what a function does not have is 0. Each step is computed by
 * the kernel of its op, block by block, so that the results are those of the ops one after the other, to the bit.
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

typedef struct nnacl_sigmoid_table_params {
    /* attributes */
    int32_t tanh;
    int32_t mult, shift; /* 0 .. 2^18, 0 .. 31 */
    /* shapes, derived */
    int32_t count;
} nnacl_sigmoid_table_params;

typedef struct nnacl_lut_params {
    /* shapes, derived */
    int32_t count;
} nnacl_lut_params;

/* In the structs of the ops that broadcast, dimensions that step alike are merged, so that equal shapes have rank 1;
 * strides are in elements, 0: repeated. In the last dimension every stride is 0 or 1. */
typedef struct nnacl_binary_params {
    /* attributes */
    float clamp_min, clamp_max; /* f32 */
    int32_t a_zero, b_zero, y_zero;
    int32_t left_shift;
    int32_t a_mult, a_shift, b_mult, b_shift, y_mult, y_shift;
    float a_scale, b_scale, y_scale;
    int32_t q_min, q_max;
    int32_t rounding;
    /* shapes, derived */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t a_strides[NNACL_MAX_RANK], b_strides[NNACL_MAX_RANK];
} nnacl_binary_params;

typedef struct nnacl_compare_params {
    /* shapes, derived */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t a_strides[NNACL_MAX_RANK], b_strides[NNACL_MAX_RANK];
} nnacl_compare_params;

typedef struct nnacl_where_params {
    /* shapes, derived */
    int32_t element_size, rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t condition_strides[NNACL_MAX_RANK], a_strides[NNACL_MAX_RANK], b_strides[NNACL_MAX_RANK];
} nnacl_where_params;

#define NNACL_FUSED_INPUTS 8
#define NNACL_FUSED_STEPS 16
#define NNACL_FUSED_CONSTANTS 16
#define NNACL_FUSED_STEP 8      /* the operand that is the result of step 0 */
#define NNACL_FUSED_CONSTANT 32 /* the operand that is constant 0 */

typedef struct nnacl_fused_params {
    /* attributes */
    int32_t step_count, constant_count;
    int32_t steps[NNACL_FUSED_STEPS];
    float constants[NNACL_FUSED_CONSTANTS];
    /* derived: the register of each step, in 4 bits: 0 is the block of y, others lie in the workspace */
    int32_t places[2];
    int32_t registers; /* in the workspace */
    int32_t n_inputs;
    int32_t byte_inputs; /* bit i: input i is b8 */
    /* shapes, derived: merged as those of the other ops; bit d of masks[i]: input i steps along dimension d */
    int32_t count;
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t masks[NNACL_FUSED_INPUTS];
} nnacl_fused_params;

/* For the kernels of add and sub, mul, and prelu of s8 for the DSP extension and for MVE: integers that are scaled down
 * to those of y. */
bool nnacl_add_accepts_small(const void *params);
bool nnacl_product_accepts_small(const void *params);
bool nnacl_prelu_accepts_small(const void *params);
/* No limits to a result of floats. */
bool nnacl_binary_accepts_unclamped(const void *params);

/* For kernels of add, sub and mul of s8 that know float-even only. */
bool nnacl_binary_accepts_scales(const void *params);
/* The same whose scales are so mild that no product or quotient is a denormal number. */
bool nnacl_binary_accepts_mild_scales(const void *params);
/* For the kernels of s8 for AArch64: no contract single. */
bool nnacl_binary_accepts_neon(const void *params);

#ifdef __cplusplus
}
#endif

#endif
