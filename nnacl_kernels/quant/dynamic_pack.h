/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of conv2d_dynamic as common/gemm_s8_dsp.h reads them, in pairs of channels. What stands there in place of the
 * requantization of each channel: the scale of its weights, and their sum for a zero point that is known at run time
 * only. */
#ifndef NNACL_DYNAMIC_PACK_H
#define NNACL_DYNAMIC_PACK_H

#include "conv/conv.h"
#include "quant/same_fields.h"

typedef struct nnacl_dynamic_channel {
    float scale;
    int32_t sum;
} nnacl_dynamic_channel;

/* What the windows depend on; x_zero is that of the run. */
static inline nnacl_conv2d_params nnacl_dynamic_shape(const nnacl_conv2d_dynamic_params *p) {
    const nnacl_conv2d_params shape = {.batch = 1, NNACL_SAME_SHAPES(p)};
    return shape;
}

#endif
