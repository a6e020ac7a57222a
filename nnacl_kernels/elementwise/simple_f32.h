/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 functions that are a few instructions, one element at a time: for their kernels, for fused_elementwise and
 * for the loops of generated code. Each takes what the op is defined on. */
#ifndef NNACL_SIMPLE_F32_H
#define NNACL_SIMPLE_F32_H

#include <math.h>

#include "common/clamp.h"

/* Each list is of NNACL_SIMPLE(op, expression): unary functions over v, with a parameter alpha, and with beta as well.
 */
#define NNACL_SIMPLE_PLAIN(NNACL_SIMPLE)                                                                               \
    NNACL_SIMPLE(relu, v < 0.0f ? 0.0f : v)                                                                            \
    NNACL_SIMPLE(hard_swish, (v * nnacl_clamp_f32(v + 3.0f, 0.0f, 6.0f) / 6.0f))                                       \
    NNACL_SIMPLE(neg, -v)                                                                                              \
    NNACL_SIMPLE(abs, fabsf(v))                                                                                        \
    NNACL_SIMPLE(square, (v * v))                                                                                      \
    NNACL_SIMPLE(sqrt, sqrtf(v))                                                                                       \
    NNACL_SIMPLE(rsqrt, 1.0f / sqrtf(v))                                                                               \
    NNACL_SIMPLE(reciprocal, 1.0f / v)

#define NNACL_SIMPLE_ALPHA(NNACL_SIMPLE) NNACL_SIMPLE(leaky_relu, v < 0.0f ? v * alpha : v)

#define NNACL_SIMPLE_BETA(NNACL_SIMPLE)                                                                                \
    NNACL_SIMPLE(clip, nnacl_clamp_f32(v, alpha, beta))                                                                \
    NNACL_SIMPLE(hard_sigmoid, nnacl_clamp_f32((alpha * v) + beta, 0.0f, 1.0f))

#define NNACL_SIMPLE_UNARY(NNACL_SIMPLE)                                                                               \
    NNACL_SIMPLE_PLAIN(NNACL_SIMPLE)                                                                                   \
    NNACL_SIMPLE_ALPHA(NNACL_SIMPLE)                                                                                   \
    NNACL_SIMPLE_BETA(NNACL_SIMPLE)

/* Binary functions over a and b. NaN in either operand of max and min is the result. */
#define NNACL_SIMPLE_BINARY(NNACL_SIMPLE)                                                                              \
    NNACL_SIMPLE(add, a + b)                                                                                           \
    NNACL_SIMPLE(sub, a - b)                                                                                           \
    NNACL_SIMPLE(mul, (a * b))                                                                                         \
    NNACL_SIMPLE(div, a / b)                                                                                           \
    NNACL_SIMPLE(max, a > b || a != a ? a : b)                                                                         \
    NNACL_SIMPLE(min, a < b || a != a ? a : b)                                                                         \
    NNACL_SIMPLE(squared_difference, (a - b) * (a - b))                                                                \
    NNACL_SIMPLE(prelu, a > 0.0f ? a : a * b)

/* All of them as functions: nnacl_relu_f32(), ... */
#define NNACL_SIMPLE_FUNCTION(op, expression)                                                                          \
    static inline float nnacl_##op##_f32(float v) {                                                                    \
        return expression;                                                                                             \
    }
NNACL_SIMPLE_PLAIN(NNACL_SIMPLE_FUNCTION)
#undef NNACL_SIMPLE_FUNCTION

#define NNACL_SIMPLE_FUNCTION(op, expression)                                                                          \
    static inline float nnacl_##op##_f32(float v, float alpha) {                                                       \
        return expression;                                                                                             \
    }
NNACL_SIMPLE_ALPHA(NNACL_SIMPLE_FUNCTION)
#undef NNACL_SIMPLE_FUNCTION

#define NNACL_SIMPLE_FUNCTION(op, expression)                                                                          \
    static inline float nnacl_##op##_f32(float v, float alpha, float beta) {                                           \
        return expression;                                                                                             \
    }
NNACL_SIMPLE_BETA(NNACL_SIMPLE_FUNCTION)
#undef NNACL_SIMPLE_FUNCTION

#define NNACL_SIMPLE_FUNCTION(op, expression)                                                                          \
    static inline float nnacl_##op##_f32(float a, float b) {                                                           \
        return expression;                                                                                             \
    }
NNACL_SIMPLE_BINARY(NNACL_SIMPLE_FUNCTION)
#undef NNACL_SIMPLE_FUNCTION

#endif
