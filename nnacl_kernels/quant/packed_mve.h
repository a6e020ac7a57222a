/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of layers with packed weights for MVE share with those of bytes. */
#ifndef NNACL_PACKED_MVE_H
#define NNACL_PACKED_MVE_H

#include "conv/conv.h"
#include "quant/decode_weights.h"
#include "quant/same_fields.h"

/* The same convolution with weights of bytes, as far as shapes and integers go. */
static inline nnacl_conv2d_params nnacl_packed_as_conv(const nnacl_conv2d_compressed_params *p) {
    const nnacl_conv2d_params conv = {.batch = p->batch,
                                      .pad_bottom = p->pad_bottom,
                                      .pad_right = p->pad_right,
                                      .groups = p->groups,
                                      .has_bias = p->has_bias,
                                      NNACL_SAME_SHAPES(p),
                                      NNACL_SAME_INTEGERS(p)};
    return conv;
}

/* What the codes of all channels of a byte but the last add for each element of x, and those of the last, which are
 * less by half of their number (common/gemm_packed_mve.h). */
static inline int32_t nnacl_packed_last_offset(int32_t bits, int32_t offset, int32_t step) {
    return nnacl_packed_offset(offset, step) + (1 << (bits - 1));
}

/* Groups of eight channels of a depthwise convolution that are decoded together, and words of codes of each. */
#define NNACL_PACKED_GROUPS_MVE 4

static inline int32_t nnacl_packed_group_codes_mve(int32_t bits, int32_t taps) {
    return (bits * taps + 3) / 4;
}

#endif
