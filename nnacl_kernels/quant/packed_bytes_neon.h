/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of f32 with weights of 8 bits for NEON. */
#ifndef NNACL_PACKED_BYTES_NEON_H
#define NNACL_PACKED_BYTES_NEON_H

#include "quant/packed_bytes.h"

/* This part of the work. One group, one scale for each channel, weights as nnacl_packed_bytes_pack() packs them. */
void nnacl_packed_bytes_neon(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y);

#endif
