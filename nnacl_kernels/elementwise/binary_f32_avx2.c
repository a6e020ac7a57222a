/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/simple_f32_avx2.h"

#define BINARY(op, expression) NNACL_BINARY_KERNEL_AVX2(nnacl_##op##_f32_avx2, expression)

NNACL_SIMPLE_BINARY_AVX2(BINARY)
