/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d of s8 with the DSP extension, wherever the lines of its channels are. */
#ifndef NNACL_CONV2D_LINES_DSP_H
#define NNACL_CONV2D_LINES_DSP_H

#include "common/finish_s8.h"
#include "common/share.h"
#include "conv/conv_panel_dsp.h"

typedef struct nnacl_conv_lines {
    int32_t shift; /* of the lines: NNACL_COMPACT_SHIFT, 4 or 1; 0: none has one */
    bool is_exact; /* some channels or all have none */
    const int32_t
        *lines; /* as common/gemm_s8_dsp.h wants them; that of a last channel alone is start, multiplier, offset */
    const void *units; /* of all channels */
    uint32_t *panel;   /* what is left of the workspace */
} nnacl_conv_lines;

/* A part of the work. */
void nnacl_conv2d_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                            const nnacl_conv_lines *lines);

/* The same with lines in whole words, as gemm_pack.h writes them. */
static inline void nnacl_conv2d_wide_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                               const int32_t *packed, int8_t *y) {
    const int32_t shift = NNACL_SHIFT_OF(packed[0]);
    const nnacl_conv_lines lines = {.shift = shift,
                                    .is_exact = NNACL_NEEDS_EXACT && (shift == 0 || shift != packed[0]),
                                    .lines = packed + 1,
                                    .units = packed + 1 + 3 * p->out_c,
                                    .panel = ctx->workspace};
    nnacl_conv2d_lines_dsp(ctx, p, x, y, &lines);
}

#endif
