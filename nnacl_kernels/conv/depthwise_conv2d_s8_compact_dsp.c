/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>

#include "common/compact_lines.h"
#include "conv/depthwise_3x3_dsp.h"
#include "conv/depthwise_lines_dsp.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_compact_dsp);

static void unpack_channel(const nnacl_depthwise_lines *lines, const nnacl_conv2d_params *p, int32_t channel,
                           int32_t sum, int32_t *line) {
    nnacl_compact_reader reader = nnacl_compact_at(lines->compact[0], lines->compact + 1, channel, p->y_zero);
    nnacl_compact_next(&reader, p->x_zero * sum, line, line + 1);
}

/* The lines of all groups of four channels, whose weights are words for each tap. The last group may begin with
 * channels of the one before it. */
static void unpack_groups(const nnacl_conv2d_params *p, const uint32_t *packed, const uint32_t *word, int32_t *lines) {
    const int32_t taps = p->kernel_h * p->kernel_w;
    for (int32_t group = 0; group < nnacl_channel_groups(p->in_c, 4); group++, lines += NNACL_TAPS_LINES_DSP) {
        nnacl_compact_reader reader =
            nnacl_compact_at(packed[0], packed + 1, nnacl_group_channel(p->in_c, group, 4), p->y_zero);
        int16x2_t sums[2] = {0, 0}; /* of the channels 0 and 2, and 1 and 3 */
        for (int32_t tap = 0; tap < taps; tap++, word++) {
            sums[0] = __sxtab16(sums[0], (int8x4_t)*word);
            sums[1] = __sxtab16(sums[1], (int8x4_t)(*word >> 8));
        }
        for (int32_t i = 0; i < 4; i++) {
            const int32_t sum = i < 2 ? (int16_t)sums[i] : sums[i - 2] >> 16;
            nnacl_compact_next(&reader, p->x_zero * sum, lines + i, lines + 4 + 2 * i);
        }
    }
}

void nnacl_depthwise_conv2d_s8_compact_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                           void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const uint32_t *packed = in[1];
    if (NNACL_NEEDS_WIDE && !NNACL_IS_COMPACT(packed[0])) {
        nnacl_depthwise_wide_lines_dsp(ctx, p, in[0], in[1], out[0]);
        return;
    }
    const uint32_t *weights = packed + 1 + nnacl_compact_words(packed[0], p->out_c);
    nnacl_depthwise_lines lines = {
        .shift = NNACL_COMPACT_SHIFT, .weights = (const int8_t *)weights, .unpack = unpack_channel, .compact = packed};
    if (!nnacl_depthwise_sweeps_dsp(p)) {
        int32_t *const words = (int32_t *)ctx->workspace + p->kernel_h * p->kernel_w + (p->in_c + 3) / 4;
        unpack_groups(p, packed, weights, words);
        lines.lines = words;
    }
    nnacl_depthwise_lines_dsp(ctx, p, in[0], out[0], &lines);
}
