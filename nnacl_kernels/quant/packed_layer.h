/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d_compressed and dense_compressed of one group have in common. */
#ifndef NNACL_PACKED_LAYER_H
#define NNACL_PACKED_LAYER_H

#include "quant/same_fields.h"

/* Words in front of the codes of a channel as packed_pack.h packs them: start, multiplier, offset. */
#define NNACL_PACKED_HEAD 3
/* Columns of a panel of halves for AVX2 (common/panels.h). */
#define NNACL_PACKED_HALVES 8

typedef struct nnacl_packed_layer {
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
    int32_t bits, group, offset, step, bfloat;
    int32_t has_bias;
    float clamp_min, clamp_max;
    int32_t x_zero, y_zero, q_min, q_max, rounding;
} nnacl_packed_layer;

static inline nnacl_packed_layer nnacl_packed_conv(const nnacl_conv2d_compressed_params *p) {
    const nnacl_packed_layer layer = {.batch = p->batch, NNACL_SAME_SHAPES(p), NNACL_SAME_CODES(p)};
    return layer;
}

/* A convolution of 1 x 1 over the rows. */
static inline nnacl_packed_layer nnacl_packed_dense(const nnacl_dense_compressed_params *p) {
    const nnacl_packed_layer layer = {.batch = 1,
                                      .in_h = 1,
                                      .in_w = p->rows,
                                      .in_c = p->depth,
                                      .out_h = 1,
                                      .out_w = p->rows,
                                      .out_c = p->units,
                                      .kernel_h = 1,
                                      .kernel_w = 1,
                                      .stride_h = 1,
                                      .stride_w = 1,
                                      .dilation_h = 1,
                                      .dilation_w = 1,
                                      NNACL_SAME_CODES(p)};
    return layer;
}

#endif
