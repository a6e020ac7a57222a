/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions that need nothing but arithmetic. */
#include "elementwise/simple_f32.h"
#include "elementwise/unary.h"

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

NNACL_SIMPLE_UNARY(UNARY)
UNARY(sign, v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v)
UNARY(floor, floorf(v))
UNARY(ceil, ceilf(v))
/* Halves to even, in the default rounding mode. */
UNARY(round, rintf(v))
