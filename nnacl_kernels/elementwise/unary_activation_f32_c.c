/* SPDX-License-Identifier: Apache-2.0 */
/* Activations beyond those of unary_math_f32_c.c. */
#include <math.h>

#include "common/float_math.h"
#include "elementwise/unary.h"

static inline float softplus(float v) {
    return (v > 0.0f ? v : 0.0f) + nnacl_log1pf(nnacl_expf(v > 0.0f ? -v : v));
}

static inline float shrink(float v, float limit, float bias) {
    return v < -limit ? v + bias : v <= limit ? 0.0f : v - bias;
}

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(celu, v < 0.0f ? alpha * nnacl_expm1f(v / alpha) : v)
UNARY(selu, v < 0.0f ? beta * (alpha * nnacl_expm1f(v)) : (beta * v))
UNARY(thresholded_relu, v <= alpha ? 0.0f : v)
UNARY(shrink, shrink(v, alpha, beta))
UNARY(softsign, v / (1.0f + fabsf(v)))
UNARY(mish, (v * nnacl_tanhf(softplus(v))))
UNARY(swish, v / (1.0f + nnacl_expf(-alpha * v)))
