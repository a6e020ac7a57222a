/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 3 x 3 taps for the kernel of depthwise_conv2d that multiplies four bytes at once: blocks of 64 channels,
 * each 64 sums to start from (s32), then for each of three columns of taps 64 quads of the three weights and 0.
 * Channels stand in the order that the instructions which interleave bytes make: 16 l + 4 q + e at place 16 q + 4 l +
 * e. */
#ifndef NNACL_DEPTHWISE_QUADS_H
#define NNACL_DEPTHWISE_QUADS_H

#include "conv/conv.h"

#define NNACL_QUADS_BLOCK 64
#define NNACL_QUADS_BYTES (4 * 4 * NNACL_QUADS_BLOCK) /* of a block */

static inline int32_t nnacl_quads_blocks(const nnacl_conv2d_params *p) {
    return p->out_c / NNACL_QUADS_BLOCK + (p->out_c % NNACL_QUADS_BLOCK != 0);
}

/* Neighbouring outputs that fill a block together where there are few channels: each has its own copy of the weights.
 */
static inline int32_t nnacl_quads_pixels(const nnacl_conv2d_params *p) {
    const bool few = p->out_c == 8 || p->out_c == 16 || p->out_c == 32;
    return few && p->stride_w <= 2 ? NNACL_QUADS_BLOCK / p->out_c : 1;
}

/* Of a channel in its block. */
static inline int32_t nnacl_quads_place(int32_t channel) {
    return channel / 4 % 4 * 16 + channel / 16 * 4 + channel % 4;
}

/* Where the three lines of row i of the outputs have their bytes of `channel`; NULL: padding. Whether none of them is.
 */
static inline bool nnacl_quads_lines(const nnacl_conv2d_params *p, const int8_t *x, int32_t channel, int32_t i,
                                     const int8_t *lines[3]) {
    const int32_t image = i / p->out_h, iy = (i - image * p->out_h) * p->stride_h - p->pad_top;
    x += (ptrdiff_t)image * p->in_h * p->in_w * p->in_c + channel;
    for (int32_t line = 0; line < 3; line++) {
        const bool there = iy + line >= 0 && iy + line < p->in_h;
        lines[line] = there ? x + (ptrdiff_t)(iy + line) * p->in_w * p->in_c : NULL;
    }
    return iy >= 0 && iy + 3 <= p->in_h;
}

#endif
