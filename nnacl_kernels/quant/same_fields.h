/* SPDX-License-Identifier: Apache-2.0 */
/* For initialisers: the fields that parameters of layers with other weights than those of conv2d and dense have under
 * the same names. */
#ifndef NNACL_SAME_FIELDS_H
#define NNACL_SAME_FIELDS_H

#include "quant/quant.h"

/* Of convolutions: all that windows depend on but the number of images. */
#define NNACL_SAME_SHAPES(p)                                                                                           \
    .stride_h = (p)->stride_h, .stride_w = (p)->stride_w, .pad_top = (p)->pad_top, .pad_left = (p)->pad_left,          \
    .dilation_h = (p)->dilation_h, .dilation_w = (p)->dilation_w, .in_h = (p)->in_h, .in_w = (p)->in_w,                \
    .in_c = (p)->in_c, .out_h = (p)->out_h, .out_w = (p)->out_w, .out_c = (p)->out_c, .kernel_h = (p)->kernel_h,       \
    .kernel_w = (p)->kernel_w

/* Of layers of integers. */
#define NNACL_SAME_INTEGERS(p)                                                                                         \
    .x_zero = (p)->x_zero, .y_zero = (p)->y_zero, .q_min = (p)->q_min, .q_max = (p)->q_max, .rounding = (p)->rounding

/* Of layers with compressed weights. */
#define NNACL_SAME_CODES(p)                                                                                            \
    .bits = (p)->bits, .group = (p)->group, .offset = (p)->offset, .step = (p)->step, .bfloat = (p)->bfloat,           \
    .has_bias = (p)->has_bias, .clamp_min = (p)->clamp_min, .clamp_max = (p)->clamp_max, NNACL_SAME_INTEGERS(p)

#endif
