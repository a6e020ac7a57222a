/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of f32 with packed weights for AVX2. */
#ifndef NNACL_PACKED_F32_AVX2_H
#define NNACL_PACKED_F32_AVX2_H

#include "quant/packed_layer.h"

/* This part of the work. One group, and groups that share a scale are whole words. Each sum
 * is added up in the order of the kernels in C, and is the same to the bit unless a product of bfloat16 leaves f32. */
void nnacl_packed_f32_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y);

#endif
