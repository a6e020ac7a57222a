/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions that need an elementary function. */
#include "elementwise/math_f32.h"
#include "elementwise/unary.h"

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(sigmoid, nnacl_sigmoid_f32(v))
UNARY(silu, nnacl_silu_f32(v))
UNARY(tanh, nnacl_tanhf(v))
UNARY(exp, nnacl_expf(v))
UNARY(log, nnacl_logf(v))
UNARY(sin, nnacl_sinf(v))
UNARY(cos, nnacl_cosf(v))
UNARY(erf, nnacl_erff(v))
UNARY(gelu, nnacl_gelu_f32(v, alpha))
UNARY(softplus, nnacl_softplus_f32(v))
UNARY(elu, nnacl_elu_f32(v, alpha))
