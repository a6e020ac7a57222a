/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compact_lines.h"
#include "conv/conv2d_lines_dsp.h"

NNACL_DECLARE(nnacl_conv2d_s8_compact_dsp);

/* Units whose weights add up to 16 bits. */
#define SUMMED_UNITS 255

/* Sums of the weights of two channels, and what follows them. */
static const uint32_t *add_units(const uint32_t *word, int32_t units, int32_t sums[2]) {
    sums[0] = sums[1] = 0;
    while (units > 0) {
        const int32_t count = units < SUMMED_UNITS ? units : SUMMED_UNITS;
        int16x2_t a = 0, b = 0;
        for (const uint32_t *const end = word + count; word < end; word++) {
            a = __sxtab16(a, (int8x4_t)*word);
            b = __sxtab16(b, (int8x4_t)(*word >> 8));
        }
        sums[0] += (int16_t)a + (a >> 16);
        sums[1] += (int16_t)b + (b >> 16);
        units -= count;
    }
    return word;
}

/* The lines of all channels from compact ones. */
static NNACL_NOINLINE void unpack_lines(const nnacl_conv2d_params *p, const uint32_t *packed, int32_t units,
                                        int32_t *lines) {
    const uint32_t head = packed[0], *word = packed + 1 + nnacl_compact_words(head, p->out_c);
    const bool summed = !NNACL_COMPACT_FOLDED(head) && p->x_zero != 0;
    nnacl_compact_reader reader = nnacl_compact_at(head, packed + 1, 0, p->y_zero);
    for (int32_t channel = 0; channel < p->out_c; channel += 2) {
        const bool alone = channel + 1 == p->out_c;
        int32_t sums[2];
        word = add_units(word, !summed ? 0 : alone ? (units + 1) / 2 : units, sums);
        if (alone) {
            nnacl_compact_next(&reader, p->x_zero * (sums[0] + sums[1]), lines, lines + 1);
        } else {
            nnacl_compact_next(&reader, p->x_zero * sums[0], lines, lines + 2);
            nnacl_compact_next(&reader, p->x_zero * sums[1], lines + 1, lines + 4);
        }
        lines += NNACL_PAIR_LINES_DSP;
    }
}

void nnacl_conv2d_s8_compact_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const uint32_t *packed = in[1];
    if (NNACL_NEEDS_WIDE && !NNACL_IS_COMPACT(packed[0])) {
        nnacl_conv2d_wide_lines_dsp(ctx, p, in[0], in[1], out[0]);
        return;
    }
    int32_t *const words = ctx->workspace;
    unpack_lines(p, packed, nnacl_runs_units(nnacl_conv2d_runs(p)), words);
    const nnacl_conv_lines lines = {.shift = NNACL_COMPACT_SHIFT,
                                    .lines = words,
                                    .units = packed + 1 + nnacl_compact_words(packed[0], p->out_c),
                                    .panel = (uint32_t *)ctx->workspace + 3 * p->out_c};
    nnacl_conv2d_lines_dsp(ctx, p, in[0], out[0], &lines);
}
