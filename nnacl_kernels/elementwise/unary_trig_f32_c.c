/* SPDX-License-Identifier: Apache-2.0 */
/* Trigonometric and hyperbolic functions and their inverses. */
#include "common/float_math_more.h"
#include "elementwise/unary.h"

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(tan, nnacl_tanf(v))
UNARY(asin, nnacl_asinf(v))
UNARY(acos, nnacl_acosf(v))
UNARY(atan, nnacl_atanf(v))
UNARY(sinh, nnacl_sinhf(v))
UNARY(cosh, nnacl_coshf(v))
UNARY(asinh, nnacl_asinhf(v))
UNARY(acosh, nnacl_acoshf(v))
UNARY(atanh, nnacl_atanhf(v))
