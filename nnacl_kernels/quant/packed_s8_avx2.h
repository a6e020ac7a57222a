/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of s8 with packed weights for AVX2. */
#ifndef NNACL_PACKED_S8_AVX2_H
#define NNACL_PACKED_S8_AVX2_H

#include "quant/packed_layer.h"

/* This part of the work. One group. */
void nnacl_packed_s8_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], int8_t *y);

#endif
