/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that the kernels of conv2d for few channels share with their plan half. */
#ifndef NNACL_CONV_FEW_H
#define NNACL_CONV_FEW_H

#include "conv/conv.h"

/* Floats of a line of the input with its padding, for the kernels of few channels. */
static inline size_t nnacl_conv_few_line(const nnacl_conv2d_params *p) {
    return ((size_t)p->pad_left + (size_t)p->in_w + (size_t)p->pad_right) * (size_t)p->in_c;
}

#endif
