/* SPDX-License-Identifier: Apache-2.0 */
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
    gemm->pairs = p->out_c / 2;
    gemm->weights = multiply(gemm);
    if (p->out_c % 2) {
        gemm->pairs = 1;
        gemm->y = y + p->out_c - 2;
        multiply(gemm);
        gemm->y = y;
    }
    nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
}

/* All pairs of channels, of which some or all are requantized exactly. */
static void run_exact(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const multiply_function multiply = multiply_of(count);
    const int32_t words = gemm->units + NNACL_GEMM_PAIR_DSP / 4, shift = gemm->shift;
    int8_t *const y = gemm->y;
    for (int32_t first = 0, pairs; first < p->out_c; first += 2 * pairs) {
        const int32_t *ends = (const int32_t *)gemm->weights + words - 4;
        for (pairs = 0; shift && first + 2 * pairs + 1 < p->out_c && ends[0] >= 0; ends += words) {
            pairs++;
        }
        if (pairs) {
            gemm->pairs = pairs;
            gemm->y = y + first;
            gemm->weights = multiply(gemm);
            continue;
        }
        pairs = 1;
        const int32_t a = first + 1 < p->out_c ? first : first - 1;
        gemm->pairs = 1;
        gemm->y = y + a;
        gemm->shift = shift && ends[0] >= 0 ? shift : 0;
        gemm->weights = multiply(gemm);
        for (int32_t i = 0; !gemm->shift && i < 2 * count; i++) {
            const int32_t second = i >= count, channel = a + second;
            y[(ptrdiff_t)(i - second * count) * p->out_c + channel] = nnacl_finish_exact(
                gemm->sums[i], ends + 2 * second, nnacl_channel_rounding(p->rounding, p->out_c, channel), p->y_zero,
                p->q_min, p->q_max);
        }
        gemm->shift = shift;
    }
    gemm->y = y;
    nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
}

void nnacl_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    const int32_t *weights = in[1];
    uint32_t *panel = ctx->workspace;
    int32_t sums[2 * NNACL_PANEL_POSITIONS];
    const int32_t units = nnacl_runs_units(runs),
                  zero_units = NNACL_NEEDS_W_ZERO ? nnacl_zero_units(p->w_zero, runs) : 0;
    nnacl_gemm_dsp gemm = {.panel = panel,
                           .units = units + zero_units,
                           .stride = p->out_c,
                           .shift = NNACL_SHIFT_OF(weights[0]),
                           .sums = sums};

    int8_t *edges = (int8_t *)(panel + gemm.units * NNACL_PANEL_POSITIONS);
    memset(edges, p->x_zero, (size_t)runs.length);
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    nnacl_conv_window next = nnacl_window_first(p, in[0], rows.begin);
    gemm.y = (int8_t *)out[0] + (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t left = (rows.end - rows.begin) * p->out_w; left > 0;) {
        const int32_t count = left >= NNACL_PANEL_POSITIONS ? NNACL_PANEL_POSITIONS : 1;
        nnacl_fill_panel(p, runs, &next, count, panel, edges);
        if (zero_units) {
            nnacl_fill_zero_units(runs, count, panel);
        }
        gemm.weights = weights + 1;
        if (!NNACL_NEEDS_EXACT || (gemm.shift && gemm.shift == weights[0])) {
            run_lines(p, &gemm, count);
        } else {
            run_exact(p, &gemm, count);
        }
        gemm.y += count * p->out_c;
        left -= count;
    }
}
