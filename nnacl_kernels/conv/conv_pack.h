/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the plan half that belong to kernels of one instruction set. */
#ifndef NNACL_CONV_PACK_H
#define NNACL_CONV_PACK_H

#include "conv/conv.h"

/* `compact`: of the kernels with compact lines (common/compact_lines.h). */
size_t nnacl_conv2d_dsp_workspace(const nnacl_conv2d_params *p, bool compact);
size_t nnacl_conv2d_dsp_packed_size(const nnacl_conv2d_params *p, int32_t index);
void nnacl_conv2d_dsp_pack(const nnacl_conv2d_params *p, bool compact, const void *const in[], void *packed);

size_t nnacl_conv2d_s16_dsp_workspace(const nnacl_conv2d_params *p);
size_t nnacl_conv2d_s16_dsp_packed_size(const nnacl_conv2d_params *p, int32_t index);
void nnacl_conv2d_s16_dsp_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed);

size_t nnacl_conv2d_mve_workspace(const nnacl_conv2d_params *p);
size_t nnacl_conv2d_mve_packed_size(const nnacl_conv2d_params *p, int32_t index);
void nnacl_conv2d_mve_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed);

/* Whether the kernel of depthwise_conv2d for the DSP extension or for MVE sweeps (depthwise_axes.h). The latter
 * multiplies bytes then, and weights without their zero point are none. */
bool nnacl_depthwise_sweeps(const nnacl_conv2d_params *p, uint32_t isa);

/* Panels of the kernel that conv_lines.h describes. */
void nnacl_conv_lines_pack(const nnacl_conv2d_params *p, const int8_t *weights, int8_t *packed);

/* depthwise_conv2d: weights [3][3][channels] in the blocks of depthwise_quads.h. */
void nnacl_depthwise_quads_pack(const nnacl_conv2d_params *p, const int8_t *weights, int8_t *packed);

/* For the DSP extension and for MVE. */
size_t nnacl_depthwise_small_workspace(const nnacl_conv2d_params *p, uint32_t isa, bool compact);
size_t nnacl_depthwise_small_packed_size(const nnacl_conv2d_params *p, uint32_t isa, int32_t index);
void nnacl_depthwise_small_pack(const nnacl_conv2d_params *p, uint32_t isa, bool compact, const void *const in[],
                                void *packed);

#endif
