/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d of s8 with the DSP extension, wherever the lines of its channels are. */
#ifndef NNACL_DEPTHWISE_LINES_DSP_H
#define NNACL_DEPTHWISE_LINES_DSP_H

#include "common/finish_s8.h"
#include "conv/conv.h"
#include "conv/depthwise_axes.h"

typedef struct nnacl_depthwise_lines nnacl_depthwise_lines;

struct nnacl_depthwise_lines {
    int32_t shift;         /* of the lines: NNACL_COMPACT_SHIFT, 4 or 1; 0: none has one */
    bool is_exact;         /* some channels or all have none */
    const int32_t *lines;  /* with 3 x 3 taps start, multiplier and offset of each output channel; else as
                              depthwise_3x3_dsp.h wants them */
    const int8_t *weights; /* of all output channels, in the same order */
    /* With 3 x 3 taps and NNACL_COMPACT_SHIFT in place of `lines`: makes that of an output channel, which has `sum` as
     * the sum of its weights. The channels of a call follow each other. */
    void (*unpack)(const nnacl_depthwise_lines *lines, const nnacl_conv2d_params *p, int32_t channel, int32_t sum,
                   int32_t *line);
    const uint32_t *compact; /* compact lines (compact_lines.h), for `unpack` */
};

/* Whether the kernel sweeps (depthwise_axes.h). */
static inline bool nnacl_depthwise_sweeps_dsp(const nnacl_conv2d_params *p) {
    return NNACL_NEEDS_SWEEP && (!NNACL_NEEDS_TAPS || nnacl_depthwise_has_sweep(p));
}

/* A part of the work. */
void nnacl_depthwise_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                               const nnacl_depthwise_lines *lines);

/* The same with lines in whole words, as conv_pack.c writes them. */
static inline void nnacl_depthwise_wide_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                                  const int32_t *packed, int8_t *y) {
    const int32_t shift = NNACL_SHIFT_OF(packed[0]);
    const int32_t channels = nnacl_depthwise_sweeps_dsp(p) ? p->out_c : nnacl_channel_groups(p->out_c, 4) * 4;
    const nnacl_depthwise_lines lines = {.shift = shift,
                                         .is_exact = NNACL_NEEDS_EXACT && (shift == 0 || shift != packed[0]),
                                         .lines = packed + 1,
                                         .weights = (const int8_t *)(packed + 1 + 3 * channels)};
    nnacl_depthwise_lines_dsp(ctx, p, x, y, &lines);
}

#endif
