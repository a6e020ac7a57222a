/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of s8 with weights of 1, 2 or 4 bits for the DSP extension. */
#ifndef NNACL_PACKED_S8_DSP_H
#define NNACL_PACKED_S8_DSP_H

#include "quant/packed_layer.h"

/* All positions of this part of the work. One group. */
void nnacl_packed_s8_dsp(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], int8_t *y);

#endif
