/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace of depthwise_conv2d of halves: a table of where the taps of some neighbouring positions are, and a
 * pixel of zeros for those in the padding. Portable: for the plan half too. */
#ifndef NNACL_DEPTHWISE_HALF_H
#define NNACL_DEPTHWISE_HALF_H

#include <string.h>

#include "conv/conv.h"

/* Positions that are computed together. */
#define NNACL_DEPTHWISE_HALF 4

static inline size_t nnacl_depthwise_half_table(const nnacl_conv2d_params *p) {
    return NNACL_DEPTHWISE_HALF * (size_t)p->kernel_h * (size_t)p->kernel_w * sizeof(void *);
}

static inline size_t nnacl_depthwise_half_workspace(const nnacl_conv2d_params *p) {
    return nnacl_depthwise_half_table(p) + (size_t)p->in_c * sizeof(uint16_t);
}

/* Fills entry `index` of each tap: the taps of position `at`, counted over all images. */
static inline void nnacl_depthwise_half_taps(const nnacl_conv2d_params *p, const void *x, int32_t at, const void *zeros,
                                             int32_t index, const void **table) {
    const int32_t line = at / p->out_w, column = at - line * p->out_w;
    const int32_t image = line / p->out_h, row = line - image * p->out_h;
    const char *start = (const char *)x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c * 2;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t iy = row * p->stride_h - p->pad_top + ky * p->dilation_h;
        int32_t ix = column * p->stride_w - p->pad_left;
        const char *tap = start + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c * 2;
        for (int32_t kx = 0; kx < p->kernel_w; kx++, table += NNACL_DEPTHWISE_HALF) {
            const bool inside = iy >= 0 && iy < p->in_h && ix >= 0 && ix < p->in_w;
            table[index] = inside ? tap : zeros;
            ix += p->dilation_w;
            tap += (ptrdiff_t)p->dilation_w * p->in_c * 2;
        }
    }
}

#endif
