/* SPDX-License-Identifier: Apache-2.0 */
/* How the s8 convolutions of AArch64 see a window: taps of runs (common/panels_arm.h). Portable: for the plan half too.
 */
#ifndef NNACL_CONV_ARM_H
#define NNACL_CONV_ARM_H

#include "common/panels_arm.h"
#include "conv/conv_band.h"

typedef struct nnacl_conv_taps {
    int32_t rows, columns; /* of taps */
    int32_t run;
    bool gathered; /* the windows are copied, each as one run */
} nnacl_conv_taps;

/* Neighbours in a kernel row are one run, if they are neighbours in the input too. Where much of the last chunks of
 * runs would be empty, windows are gathered. */
static inline nnacl_conv_taps nnacl_conv_taps_of(const nnacl_conv2d_params *p, nnacl_arm_layout layout) {
    const int32_t channels = p->in_c / p->groups;
    nnacl_conv_taps taps = {p->kernel_h, p->kernel_w, channels, false};
    if (p->groups == 1 && p->dilation_w == 1) {
        taps = (nnacl_conv_taps){p->kernel_h, 1, p->kernel_w * channels, false};
    }
    const int32_t count = taps.rows * taps.columns;
    const int32_t apart = count * nnacl_arm_run_size(taps.run, layout);
    const int32_t joined = nnacl_arm_run_size(count * taps.run, layout);
    if (count > 1 && apart >= joined + joined / 2 && p->out_c / p->groups > 8) {
        return (nnacl_conv_taps){1, 1, count * taps.run, true};
    }
    return taps;
}

/* Rows that are gathered at a time. */
#define NNACL_GATHERED_ROWS 32

/* Elements of a window that are copied at once. */
static inline int32_t nnacl_conv_gathered_run(const nnacl_conv2d_params *p) {
    const int32_t channels = p->in_c / p->groups;
    return p->dilation_w == 1 && p->groups == 1 ? p->kernel_w * channels : channels;
}

static inline nnacl_conv_band nnacl_conv_arm_band(const nnacl_conv2d_params *p, nnacl_conv_taps taps) {
    return nnacl_conv_band_of(p, taps.gathered ? nnacl_conv_gathered_run(p) : taps.run, NNACL_ARM_CHUNK);
}

/* The band, then windows. */
static inline size_t nnacl_conv_arm_workspace(const nnacl_conv2d_params *p, nnacl_arm_layout layout) {
    const nnacl_conv_taps taps = nnacl_conv_taps_of(p, layout);
    const nnacl_conv_band band = nnacl_conv_arm_band(p, taps);
    const size_t windows = taps.gathered ? NNACL_GATHERED_ROWS * (size_t)taps.run + 2 * NNACL_BAND_SLACK : 0;
    return nnacl_conv_band_workspace(p, &band) + windows;
}

static inline size_t nnacl_conv_arm_group_size(const nnacl_conv2d_params *p, nnacl_arm_layout layout) {
    const nnacl_conv_taps taps = nnacl_conv_taps_of(p, layout);
    return (size_t)nnacl_arm_panels(p->out_c / p->groups, layout) *
           nnacl_arm_panel_size(taps.rows * taps.columns, taps.run, layout);
}

static inline size_t nnacl_conv_arm_packed_size(const nnacl_conv2d_params *p, nnacl_arm_layout layout) {
    return NNACL_ARM_HEAD + (size_t)p->groups * nnacl_conv_arm_group_size(p, layout);
}

static inline void nnacl_conv_arm_pack(const nnacl_conv2d_params *p, nnacl_arm_layout layout, const void *const in[],
                                       void *packed) {
    const nnacl_conv_taps taps = nnacl_conv_taps_of(p, layout);
    const int32_t channels = p->out_c / p->groups, depth = taps.rows * taps.columns * taps.run;
    nnacl_arm_layer layer = {.weights = in[1],
                             .bias = p->has_bias ? in[2] : NULL,
                             .requant = in[3],
                             .channels = channels,
                             .all = p->out_c,
                             .taps = taps.rows * taps.columns,
                             .run = taps.run,
                             .rounding = p->rounding,
                             .x_zero = p->x_zero};
    layer.flags = nnacl_arm_flags(&layer, (size_t)p->out_c * (size_t)depth);
    char *to = nnacl_arm_pack_head(layer.flags, packed);
    for (int32_t group = 0; group < p->groups; group++, to += nnacl_conv_arm_group_size(p, layout)) {
        layer.first = group * channels;
        nnacl_arm_pack(&layer, layout, to);
        layer.weights += (ptrdiff_t)channels * depth;
    }
}

/* Channels of a block of depthwise_conv2d. A block is as a panel, with [kernel_h][kernel_w][channels] weights. */
#define NNACL_DEPTHWISE_ARM 16

static inline nnacl_conv_band nnacl_depthwise_arm_band(const nnacl_conv2d_params *p) {
    return nnacl_conv_band_of(p, p->in_c % NNACL_DEPTHWISE_ARM == 0, 1);
}

static inline size_t nnacl_depthwise_arm_block(const nnacl_conv2d_params *p) {
    return NNACL_DEPTHWISE_ARM * (4 * sizeof(int32_t) + (size_t)p->kernel_h * (size_t)p->kernel_w);
}

static inline size_t nnacl_depthwise_arm_packed_size(const nnacl_conv2d_params *p) {
    const size_t blocks = ((size_t)p->out_c + NNACL_DEPTHWISE_ARM - 1) / NNACL_DEPTHWISE_ARM;
    return NNACL_ARM_HEAD + blocks * nnacl_depthwise_arm_block(p);
}

static inline void nnacl_depthwise_arm_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed) {
    const int32_t taps = p->kernel_h * p->kernel_w;
    nnacl_arm_layer layer = {.weights = in[1],
                             .bias = p->has_bias ? in[2] : NULL,
                             .requant = in[3],
                             .channels = p->out_c,
                             .all = p->out_c,
                             .rounding = p->rounding,
                             .x_zero = p->x_zero};
    layer.flags = nnacl_arm_flags(&layer, (size_t)p->out_c * (size_t)taps);
    char *block = nnacl_arm_pack_head(layer.flags, packed);
    for (int32_t first = 0; first < p->out_c; first += NNACL_DEPTHWISE_ARM, block += nnacl_depthwise_arm_block(p)) {
        char *weights = block + NNACL_DEPTHWISE_ARM * 4 * sizeof(int32_t);
        memset(block, 0, nnacl_depthwise_arm_block(p));
        for (int32_t c = 0; c < NNACL_DEPTHWISE_ARM && first + c < p->out_c; c++) {
            uint32_t sum = 0;
            for (int32_t tap = 0; tap < taps; tap++) {
                const int8_t weight = layer.weights[(ptrdiff_t)tap * p->out_c + first + c];
                weights[tap * NNACL_DEPTHWISE_ARM + c] = (char)weight;
                sum += (uint32_t)weight;
            }
            nnacl_arm_put_column(&layer, first + c, sum, NNACL_DEPTHWISE_ARM, c, block);
        }
    }
}

#endif
