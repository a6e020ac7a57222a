/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 1, 2 or 4 bits as the kernels for MVE read them: the shift of the lines, then for a convolution or dense
 * layer groups of four channels as common/gemm_packed_mve.h says. For one output channel for each input channel with 3
 * x 3 taps start, multiplier and offset of each channel and then the codes of all, one after the other, along the ring
 * and then along the sweep (conv/depthwise_axes.h); with other taps groups of eight channels as
 * conv/depthwise_3x3_mve.h says, with codes in place of bytes, filled up to whole words. Bias and requant are in there.
 */
#ifndef NNACL_PACKED_MVE_PACK_H
#define NNACL_PACKED_MVE_PACK_H

#include "common/runs.h"
#include "quant/quant.h"

/* Whether the kernels take codes of so many bits. */
bool nnacl_packed_mve_takes(int32_t bits, int32_t step);

/* Whether the windows of a convolution of one group are copied before they are computed. */
bool nnacl_packed_conv_mve_copies(const nnacl_conv2d_compressed_params *p);

/* Bytes of scratch memory, bytes of the constant input `index`, and the first of them. */
size_t nnacl_packed_conv_mve_workspace(const nnacl_conv2d_compressed_params *p);
size_t nnacl_packed_conv_mve_size(const nnacl_conv2d_compressed_params *p, int32_t index);
void nnacl_packed_conv_mve_pack(const nnacl_conv2d_compressed_params *p, const void *const in[], void *packed);
size_t nnacl_packed_dense_mve_size(const nnacl_dense_compressed_params *p, int32_t index);
void nnacl_packed_dense_mve_pack(const nnacl_dense_compressed_params *p, const void *const in[], void *packed);

#endif
