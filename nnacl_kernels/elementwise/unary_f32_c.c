/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions that need nothing but arithmetic. */
#include <math.h>

#include "common/clamp.h"
#include "elementwise/unary.h"

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(relu, v < 0.0f ? 0.0f : v)
UNARY(leaky_relu, v < 0.0f ? v * alpha : v)
UNARY(clip, nnacl_clamp_f32(v, alpha, beta))
UNARY(hard_sigmoid, nnacl_clamp_f32((alpha * v) + beta, 0.0f, 1.0f))
UNARY(hard_swish, (v * nnacl_clamp_f32(v + 3.0f, 0.0f, 6.0f) / 6.0f))
UNARY(neg, -v)
UNARY(abs, fabsf(v))
UNARY(square, (v * v))
UNARY(sign, v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v)
UNARY(sqrt, sqrtf(v))
UNARY(rsqrt, 1.0f / sqrtf(v))
UNARY(reciprocal, 1.0f / v)
UNARY(floor, floorf(v))
UNARY(ceil, ceilf(v))
/* Halves to even, in the default rounding mode. */
UNARY(round, rintf(v))
