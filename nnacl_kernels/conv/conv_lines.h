/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that the kernel of s8 that copies lines of the input shares with its plan half. */
#ifndef NNACL_CONV_LINES_H
#define NNACL_CONV_LINES_H

#include "conv/conv.h"

/* Neighbouring outputs that are computed at once. */
#define NNACL_LINES_COLUMNS 8
/* Outputs that a block of rows should have: fewer read the weights too often, more fill the cache with lines. */
#define NNACL_LINES_OUTPUTS 256

/* Columns of a tile: 8, or 7 where a row has fewer of these. The last tile repeats some of the one before. */
static inline int32_t nnacl_lines_columns(const nnacl_conv2d_params *p) {
    const int32_t most = NNACL_LINES_COLUMNS, less = most - 1;
    return (p->out_w + less - 1) / less * less < (p->out_w + most - 1) / most * most ? less : most;
}

/* Columns that are computed in each row. */
static inline int32_t nnacl_lines_width(const nnacl_conv2d_params *p) {
    const int32_t columns = nnacl_lines_columns(p);
    return (p->out_w + columns - 1) / columns * columns;
}

/* Bytes of a line of the input with its padding; quads may be read three bytes past its end. */
static inline size_t nnacl_lines_size(const nnacl_conv2d_params *p) {
    const size_t columns = (size_t)p->pad_left + (size_t)p->in_w + (size_t)p->pad_right;
    return columns * (size_t)p->in_c + 4;
}

/* Rows of the output that are computed from one set of lines. */
static inline int32_t nnacl_lines_rows(const nnacl_conv2d_params *p) {
    const int32_t rows = p->out_w > 0 ? NNACL_LINES_OUTPUTS / p->out_w : 1;
    return rows > p->out_h ? (p->out_h > 0 ? p->out_h : 1) : rows > 0 ? rows : 1;
}

static inline size_t nnacl_lines_workspace(const nnacl_conv2d_params *p) {
    return nnacl_lines_size(p) * ((size_t)(nnacl_lines_rows(p) - 1) * (size_t)p->stride_h + (size_t)p->kernel_h);
}

/* Quads of bytes in a kernel row, and bytes of a panel: [16] sums to start from (s32), then for each kernel row and
 * quad [16][4] weights. */
static inline int32_t nnacl_lines_quads(const nnacl_conv2d_params *p) {
    return (p->kernel_w * p->in_c + 3) / 4;
}
static inline int32_t nnacl_lines_panel(const nnacl_conv2d_params *p) {
    return 64 + p->kernel_h * nnacl_lines_quads(p) * 64;
}

#endif
