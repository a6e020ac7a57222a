/* SPDX-License-Identifier: Apache-2.0 */
/* How the convolutions of halves for AArch64 (fp16) and for MVE want weights, and the workspace of those for AArch64.
 * Portable: for the plan half too. */
#ifndef NNACL_CONV_HALF_H
#define NNACL_CONV_HALF_H

#include "common/half.h"
#include "common/panels.h"
#include "conv/conv_rows.h"
#include "nnacl_isa.h"

/* Rows of a panel: what is listed of a window, or the window. */
static inline int32_t nnacl_conv_half_depth(const nnacl_conv2d_params *p, uint32_t isa) {
    const nnacl_conv_rows rows = nnacl_conv_rows_of(p, sizeof(uint16_t));
    return isa == NNACL_ISA_MVE ? p->kernel_h * p->kernel_w * p->in_c : rows.taps * rows.run;
}

static inline int32_t nnacl_conv_half_width(uint32_t isa) {
    return isa == NNACL_ISA_MVE ? NNACL_PANEL_F16_MVE : NNACL_PANEL_F16;
}

static inline size_t nnacl_conv_half_packed_size(const nnacl_conv2d_params *p, uint32_t isa) {
    return (size_t)p->groups *
           nnacl_columns_f16_size(p->out_c / p->groups, nnacl_conv_half_depth(p, isa), nnacl_conv_half_width(isa));
}

static inline void nnacl_conv_half_pack(const nnacl_conv2d_params *p, uint32_t isa, const uint16_t *weights,
                                        uint16_t *packed) {
    const int32_t columns = p->out_c / p->groups, depth = p->kernel_h * p->kernel_w * (p->in_c / p->groups);
    const size_t size = nnacl_conv_half_packed_size(p, isa) / (size_t)p->groups / sizeof *packed;
    for (int32_t group = 0; group < p->groups; group++) {
        nnacl_pack_columns_f16(weights + (ptrdiff_t)group * columns * depth, columns, depth,
                               nnacl_conv_half_depth(p, isa), nnacl_conv_half_width(isa),
                               packed + (size_t)group * size);
    }
}

/* depthwise_conv2d for MVE: the biases as halves, then the weights. */
static inline size_t nnacl_depthwise_half_packed_size(const nnacl_conv2d_params *p) {
    return ((size_t)p->kernel_h * (size_t)p->kernel_w + 1) * (size_t)p->out_c * sizeof(uint16_t);
}

static inline void nnacl_depthwise_half_pack(const nnacl_conv2d_params *p, const void *const in[], uint16_t *packed) {
    const float *bias = p->has_bias ? in[2] : NULL;
    for (int32_t c = 0; c < p->out_c; c++) {
        packed[c] = bias ? nnacl_float_to_half(bias[c]) : 0;
    }
    const size_t rest = nnacl_depthwise_half_packed_size(p) - (size_t)p->out_c * sizeof *packed;
    memcpy(packed + p->out_c, in[1], rest);
}

/* depthwise_conv2d for AArch64 has a table of where the taps of some neighbouring positions are, and a pixel of zeros
 * for those in the padding. Positions that are computed together: */
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
