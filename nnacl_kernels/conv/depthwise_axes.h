/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernel of depthwise_conv2d for the DSP extension walks over an image when there are 3 x 3 taps: along one
 * axis, four outputs at a time (the sweep), with the three rows of the other axis that a window needs in a ring. Either
 * axis can be the one or the other. All other kernels are computed output by output. */
#ifndef NNACL_DEPTHWISE_AXES_H
#define NNACL_DEPTHWISE_AXES_H

#include "conv/conv.h"

/* Outputs along the sweep that are computed together. */
#define NNACL_SWEEP_BLOCK 4
#define NNACL_RING_ROWS 3

/* The DSP extension: channels whose rows are in the ring together, and words of weights of an output channel, which are
 * (w0, w1) and (w1, w2) for each row, the first two rows again behind the last, since the ring may begin with any. */
#define NNACL_SWEEP_CHANNELS_DSP 4
#define NNACL_SWEEP_WEIGHTS_DSP 10

/* MVE: the same, and bytes of weights of an output channel, which are three vectors, one for each row that the ring may
 * begin with. */
#define NNACL_SWEEP_CHANNELS_MVE 8
#define NNACL_SWEEP_WEIGHTS_MVE 48

typedef struct nnacl_axis {
    int32_t in, out, stride, pad;
} nnacl_axis;

typedef struct nnacl_depthwise_axes {
    nnacl_axis sweep, ring;
    bool swapped; /* the sweep goes along the height */
    bool possible;
} nnacl_depthwise_axes;

static inline int32_t nnacl_sweep_blocks(int32_t outputs) {
    return (outputs + NNACL_SWEEP_BLOCK - 1) / NNACL_SWEEP_BLOCK;
}

/* The DSP extension: words of a row in the ring, each with two neighbours along the sweep, for a number of outputs. */
static inline int32_t nnacl_sweep_pairs(const nnacl_axis *sweep, int32_t outputs) {
    return (sweep->stride == 1 ? 2 : 4) * nnacl_sweep_blocks(outputs) + 1;
}

/* MVE: bytes of the ring of a channel; a vector is read behind the last position. */
static inline int32_t nnacl_sweep_plane_mve(const nnacl_axis *sweep) {
    const int32_t outputs = nnacl_sweep_blocks(sweep->out) * NNACL_SWEEP_BLOCK;
    return ((outputs - 1) * sweep->stride + 3) * NNACL_RING_ROWS + 16;
}

/* About how many instructions a channel takes, with the DSP extension; modulo 2^32. */
static inline uint32_t nnacl_sweep_cost(const nnacl_axis *sweep, const nnacl_axis *ring) {
    const uint32_t out = (uint32_t)ring->out, rows = (out - 1) * (uint32_t)ring->stride + NNACL_RING_ROWS;
    return out * ((uint32_t)nnacl_sweep_blocks(sweep->out) * 52 + 28) +
           rows * ((uint32_t)nnacl_sweep_pairs(sweep, sweep->out) * 5 + 30);
}

/* Whether there is a sweep: 3 x 3 taps side by side, and windows at most two apart in one direction. */
static inline bool nnacl_depthwise_has_sweep(const nnacl_conv2d_params *p) {
    return p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1 &&
           (p->stride_w <= 2 || p->stride_h <= 2);
}

static inline nnacl_depthwise_axes nnacl_depthwise_axes_of(const nnacl_conv2d_params *p) {
    const nnacl_axis high = {p->in_h, p->out_h, p->stride_h, p->pad_top};
    const nnacl_axis wide = {p->in_w, p->out_w, p->stride_w, p->pad_left};
    const bool can_wide = wide.stride <= 2, can_high = high.stride <= 2;
    const bool swapped = can_high && (!can_wide || nnacl_sweep_cost(&high, &wide) < nnacl_sweep_cost(&wide, &high));
    const nnacl_depthwise_axes axes = {
        .sweep = swapped ? high : wide,
        .ring = swapped ? wide : high,
        .swapped = swapped,
        .possible = nnacl_depthwise_has_sweep(p),
    };
    return axes;
}

/* Groups of `width` channels for the kernels that compute output by output; the last one overlaps the one before it
 * when the channels are no multiple of the width. */
static inline int32_t nnacl_channel_groups(int32_t channels, int32_t width) {
    return (channels + width - 1) / width;
}

static inline int32_t nnacl_group_channel(int32_t channels, int32_t group, int32_t width) {
    return group * width + width <= channels ? group * width : channels - width;
}

#endif
