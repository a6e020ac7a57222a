/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of f32 whose products are those of bfloat16. */
#ifndef NNACL_PACKED_F32_BF16_H
#define NNACL_PACKED_F32_BF16_H

#include "quant/packed_layer.h"

/* This part of the work. One group. */
void nnacl_packed_f32_bf16(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y);

#endif
