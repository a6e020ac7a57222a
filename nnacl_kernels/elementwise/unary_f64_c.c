/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions that need nothing but arithmetic. */
#include <math.h>

#include "elementwise/unary.h"

static inline double clamp(double value, double low, double high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f64_c, double, expression)

UNARY(relu, v < 0.0 ? 0.0 : v)
UNARY(leaky_relu, v < 0.0 ? v * (double)alpha : v)
UNARY(clip, clamp(v, (double)alpha, (double)beta))
UNARY(neg, -v)
UNARY(abs, fabs(v))
UNARY(square, (v * v))
UNARY(sign, v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : v)
UNARY(sqrt, sqrt(v))
UNARY(rsqrt, 1.0 / sqrt(v))
UNARY(reciprocal, 1.0 / v)
UNARY(floor, floor(v))
UNARY(ceil, ceil(v))
/* Halves to even, in the default rounding mode. */
UNARY(round, rint(v))
