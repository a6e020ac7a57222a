/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that those of halves go through. */
#ifndef NNACL_UNARY_MATH_F32_C_H
#define NNACL_UNARY_MATH_F32_C_H

#include "nnacl_base.h"

NNACL_DECLARE(nnacl_sigmoid_f32_c);
NNACL_DECLARE(nnacl_silu_f32_c);
NNACL_DECLARE(nnacl_tanh_f32_c);
NNACL_DECLARE(nnacl_gelu_f32_c);
NNACL_DECLARE(nnacl_elu_f32_c);

#endif
