/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compact_lines.h"
#include "common/finish_s8.h"
#include "common/requant.h"
#include "common/share.h"
#include "conv/conv_panel_dsp.h"

NNACL_DECLARE(nnacl_conv2d_s8_dsp);

typedef const void *(*multiply_function)(const nnacl_gemm_dsp *);

static multiply_function multiply_of(int32_t count) {
    return count == NNACL_PANEL_POSITIONS ? nnacl_gemm4_s8_dsp : nnacl_gemm1_s8_dsp;
}

/* All pairs of channels, with lines. */
static void run_lines(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const multiply_function multiply = multiply_of(count);
    int8_t *const y = gemm->y;
    const int32_t *const lines = gemm->lines;
    gemm->pairs = p->out_c / 2;
    gemm->weights = multiply(gemm);
    if (p->out_c % 2) {
        gemm->lines = lines + gemm->pairs * NNACL_PAIR_LINES_DSP;
        gemm->pairs = 1;
        gemm->y = y + p->out_c - 2;
        multiply(gemm);
        gemm->y = y;
        gemm->lines = lines;
    }
    nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
}

/* All pairs of channels, of which some or all are requantized exactly. */
static void run_exact(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const multiply_function multiply = multiply_of(count);
    const int32_t shift = gemm->shift, *const lines = gemm->lines;
    int8_t *const y = gemm->y;
    for (int32_t first = 0, pairs; first < p->out_c; first += 2 * pairs) {
        const int32_t *line = gemm->lines;
        for (pairs = 0; shift && first + 2 * pairs + 1 < p->out_c && line[2] >= 0; line += NNACL_PAIR_LINES_DSP) {
            pairs++;
        }
        if (pairs) {
            gemm->pairs = pairs;
            gemm->y = y + first;
            gemm->weights = multiply(gemm);
            gemm->lines = line;
            continue;
        }
        pairs = 1;
        const int32_t a = first + 1 < p->out_c ? first : first - 1;
        gemm->pairs = 1;
        gemm->y = y + a;
        gemm->shift = shift && line[2] >= 0 ? shift : 0;
        gemm->weights = multiply(gemm);
        gemm->lines += NNACL_PAIR_LINES_DSP;
        for (int32_t i = 0; !gemm->shift && i < 2 * count; i++) {
            const int32_t second = i >= count, channel = a + second;
            y[(ptrdiff_t)(i - second * count) * p->out_c + channel] = nnacl_finish_exact(
                gemm->sums[i], line + 2 + 2 * second, nnacl_channel_rounding(p->rounding, p->out_c, channel), p->y_zero,
                p->q_min, p->q_max);
        }
        gemm->shift = shift;
    }
    gemm->y = y;
    gemm->lines = lines;
    nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
}

/* The lines of all pairs from compact ones. */
static NNACL_NOINLINE void unpack_lines(const nnacl_conv2d_params *p, const uint32_t *packed, int32_t units,
                                        int32_t *lines) {
    const int32_t pairs = p->out_c / 2 + p->out_c % 2;
    const uint32_t *word = packed + 2;
    nnacl_compact_reader reader = nnacl_compact_at(packed[0], word + pairs * units, 0, p->y_zero);
    for (int32_t channel = 0; channel < p->out_c; channel += 2) {
        int32_t a = 0, b = 0;
        for (int32_t i = 0; !NNACL_COMPACT_FOLDED(packed[0]) && i < units; i++) {
            a = __smlad((int32_t)__sxtb16(word[i]), 0x00010001, a);
            b = __smlad((int32_t)__sxtb16(word[i] >> 8), 0x00010001, b);
        }
        word += units;
        if (channel + 1 < p->out_c) {
            nnacl_compact_next(&reader, p->x_zero * a, &lines[0], &lines[2]);
        } else { /* the channel before is in the last pair too */
            const int32_t *before = lines - NNACL_PAIR_LINES_DSP;
            lines[0] = before[1];
            lines[2] = before[4];
            lines[3] = before[5];
        }
        nnacl_compact_next(&reader, p->x_zero * b, &lines[1], &lines[4]);
        lines += NNACL_PAIR_LINES_DSP;
    }
}

void nnacl_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    const int32_t *packed = in[1];
    const bool is_compact = NNACL_NEEDS_COMPACT && (!NNACL_NEEDS_WIDE || packed[0] & NNACL_COMPACT);
    const int32_t pairs = p->out_c / 2 + p->out_c % 2;
    int32_t *const lines = ctx->workspace;
    uint32_t *panel = (uint32_t *)ctx->workspace + pairs * NNACL_PAIR_LINES_DSP;
    int32_t sums[2 * NNACL_PANEL_POSITIONS];
    const int32_t units = nnacl_runs_units(runs),
                  zero_units = NNACL_NEEDS_W_ZERO ? nnacl_zero_units(p->w_zero, runs) : 0;
    nnacl_gemm_dsp gemm = {.panel = panel,
                           .units = units + zero_units,
                           .stride = p->out_c,
                           .shift = is_compact ? NNACL_COMPACT_SHIFT : NNACL_SHIFT_OF(packed[0]),
                           .sums = sums,
                           .lines = is_compact ? lines : packed + 1};
    const int32_t *weights = is_compact ? packed + 2 : packed + 1 + pairs * NNACL_PAIR_LINES_DSP;

    int8_t *edges = (int8_t *)(panel + gemm.units * NNACL_PANEL_POSITIONS);
    memset(edges, p->x_zero, (size_t)runs.length);
    if (is_compact) {
        unpack_lines(p, (const uint32_t *)packed, units, lines);
    }
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    nnacl_conv_window next = nnacl_window_first(p, in[0], rows.begin);
    gemm.y = (int8_t *)out[0] + (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t left = (rows.end - rows.begin) * p->out_w; left > 0;) {
        const int32_t count = left >= NNACL_PANEL_POSITIONS ? NNACL_PANEL_POSITIONS : 1;
        nnacl_fill_panel(p, runs, &next, count, is_compact, panel, edges);
        if (zero_units) {
            nnacl_fill_zero_units(runs, count, panel);
        }
        gemm.weights = weights;
        if (!NNACL_NEEDS_EXACT || is_compact || (gemm.shift && gemm.shift == packed[0])) {
            run_lines(p, &gemm, count);
        } else {
            run_exact(p, &gemm, count);
        }
        gemm.y += count * p->out_c;
        left -= count;
    }
}
