/* SPDX-License-Identifier: Apache-2.0 */
/* Activations beyond those of unary_math_f32_c.c. */
#include <math.h>

#include "elementwise/math_f32.h"
#include "elementwise/unary.h"

static inline float shrink(float v, float limit, float bias) {
    return v < -limit ? v + bias : v <= limit ? 0.0f : v - bias;
}

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(celu, v < 0.0f ? alpha * nnacl_expm1f(v / alpha) : v)
UNARY(selu, v < 0.0f ? beta * (alpha * nnacl_expm1f(v)) : (beta * v))
UNARY(thresholded_relu, v <= alpha ? 0.0f : v)
UNARY(shrink, shrink(v, alpha, beta))
UNARY(softsign, v / (1.0f + fabsf(v)))
UNARY(mish, nnacl_mish_f32(v))
UNARY(swish, nnacl_swish_f32(v, alpha))
