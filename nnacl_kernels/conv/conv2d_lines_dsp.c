/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/conv2d_lines_dsp.h"

#include "common/requant.h"

typedef const void *(*multiply_function)(const nnacl_gemm_dsp *);

static multiply_function multiply_of(int32_t count) {
    return count == NNACL_PANEL_POSITIONS ? nnacl_gemm4_s8_dsp : nnacl_gemm1_s8_dsp;
}

static int8_t finish_exact(const nnacl_conv2d_params *p, int32_t sum, const int32_t *end, int32_t channel) {
    return nnacl_finish_exact(sum, end, nnacl_channel_rounding(p->rounding, p->out_c, channel), p->y_zero, p->q_min,
                              p->q_max);
}

/* Pairs of channels of which some or all are requantized exactly. */
static void run_exact_pairs(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const multiply_function multiply = multiply_of(count);
    const int32_t shift = gemm->shift, even = p->out_c / 2 * 2;
    int8_t *const y = gemm->y;
    for (int32_t first = 0, pairs; first < even; first += 2 * pairs) {
        const int32_t *line = gemm->lines;
        for (pairs = 0; shift && first + 2 * pairs < even && line[2] >= 0; line += NNACL_PAIR_LINES_DSP) {
            pairs++;
        }
        gemm->y = y + first;
        if (pairs) {
            gemm->pairs = pairs;
            gemm->weights = multiply(gemm);
            gemm->lines = line;
            continue;
        }
        gemm->pairs = pairs = 1;
        gemm->shift = 0;
        gemm->weights = multiply(gemm);
        gemm->shift = shift;
        gemm->lines += NNACL_PAIR_LINES_DSP;
        for (int32_t i = 0; i < 2 * count; i++) {
            const int32_t second = i >= count;
            y[(ptrdiff_t)(i - second * count) * p->out_c + first + second] =
                finish_exact(p, gemm->sums[i], line + 2 + 2 * second, first + second);
        }
    }
    gemm->y = y;
}

/* The last of an odd number of channels: each word of its weights holds two units. */
static void run_last(const nnacl_conv2d_params *p, const nnacl_gemm_dsp *gemm, int32_t count) {
    const int32_t *const line = gemm->lines;
    const bool exact = NNACL_NEEDS_EXACT && (gemm->shift == 0 || line[1] < 0);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t *x = gemm->panel + i, *w = gemm->weights;
        int32_t sum = line[0];
        for (int32_t left = gemm->units; left > 1; left -= 2, x += 2 * count, w++) {
            sum = __smlad((int32_t)x[0], (int32_t)__sxtb16(*w), sum);
            sum = __smlad((int32_t)x[count], (int32_t)__sxtb16(*w >> 8), sum);
        }
        if (gemm->units % 2) {
            sum = __smlad((int32_t)x[0], (int32_t)__sxtb16(*w), sum);
        }
        gemm->y[(ptrdiff_t)i * p->out_c + p->out_c - 1] =
            exact ? finish_exact(p, sum, line + 1, p->out_c - 1)
                  : (int8_t)__ssat(((int32_t)((int64_t)sum * line[1] >> 32) + line[2]) >> gemm->shift, 8);
    }
}

void nnacl_conv2d_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                            const nnacl_conv_lines *lines) {
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    const bool high = NNACL_NEEDS_COMPACT && (!NNACL_NEEDS_WIDE || lines->shift == NNACL_COMPACT_SHIFT);
    int32_t sums[2 * NNACL_PANEL_POSITIONS];
    const int32_t units = nnacl_runs_units(runs),
                  zero_units = NNACL_NEEDS_W_ZERO ? nnacl_zero_units(p->w_zero, runs) : 0;
    nnacl_gemm_dsp gemm = {
        .panel = lines->panel, .units = units + zero_units, .stride = p->out_c, .shift = lines->shift, .sums = sums};

    int8_t *edges = (int8_t *)(lines->panel + gemm.units * NNACL_PANEL_POSITIONS);
    memset(edges, p->x_zero, (size_t)runs.length);
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    nnacl_conv_window next = nnacl_window_first(p, x, rows.begin);
    gemm.y = y + (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t left = (rows.end - rows.begin) * p->out_w; left > 0;) {
        const int32_t count = left >= NNACL_PANEL_POSITIONS ? NNACL_PANEL_POSITIONS : 1;
        nnacl_fill_panel(p, runs, &next, count, high, lines->panel, edges);
        if (zero_units) {
            nnacl_fill_zero_units(runs, count, lines->panel);
        }
        gemm.weights = lines->units;
        gemm.lines = lines->lines;
        if (NNACL_NEEDS_EXACT && lines->is_exact) {
            run_exact_pairs(p, &gemm, count);
        } else {
            gemm.pairs = p->out_c / 2;
            gemm.weights = multiply_of(count)(&gemm);
            gemm.lines += gemm.pairs * NNACL_PAIR_LINES_DSP;
        }
        if (p->out_c % 2) {
            run_last(p, &gemm, count);
        }
        nnacl_clamp_bytes(gemm.y, count * p->out_c, p->q_min, p->q_max);
        gemm.y += count * p->out_c;
        left -= count;
    }
}
