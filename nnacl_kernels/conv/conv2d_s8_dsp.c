/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/finish_s8_dsp.h"
#include "common/gemm_s8_dsp.h"
#include "common/requant.h"
#include "common/share.h"
#include "conv/conv.h"
#include "conv/conv_runs.h"

NNACL_DECLARE(nnacl_conv2d_s8_dsp);

/* Positions that are computed together. */
#define BLOCK 4

/* The window of an output position: its first row and column in the input, which may lie in the padding. */
typedef struct window {
    const int8_t *image;
    int32_t y, x;
    bool inside;
} window;

static window window_at(const nnacl_conv2d_params *p, const int8_t *x, int32_t position) {
    const int32_t row = position / p->out_w, column = position - row * p->out_w, image = row / p->out_h;
    window w;
    w.image = x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c;
    w.y = (row - image * p->out_h) * p->stride_h - p->pad_top;
    w.x = column * p->stride_w - p->pad_left;
    w.inside = w.y >= 0 && w.x >= 0 && w.y + (p->kernel_h - 1) * p->dilation_h < p->in_h &&
               w.x + (p->kernel_w - 1) * p->dilation_w < p->in_w;
    return w;
}

/* Where run `run` of a window lies: in the input, or, when part of it is in the padding, in `edge`, where it is
 * written. */
static const int8_t *find_run(const nnacl_conv2d_params *p, const window *w, int32_t run, int8_t *edge) {
    const bool whole_row = p->dilation_w == 1;
    const int32_t ky = whole_row ? run : run / p->kernel_w, kx = whole_row ? 0 : run % p->kernel_w;
    const int32_t taps = whole_row ? p->kernel_w : 1;
    const int32_t y = w->y + ky * p->dilation_h, x = w->x + kx * p->dilation_w;
    const int8_t *source = w->image + ((ptrdiff_t)y * p->in_w + x) * p->in_c;
    if (w->inside) {
        return source;
    }
    const bool in_row = y >= 0 && y < p->in_h;
    const int32_t before = x < 0 ? (-x < taps ? -x : taps) : 0;
    const int32_t room = p->in_w - x, end = !in_row || room < before ? before : room < taps ? room : taps;
    memset(edge, p->x_zero, (size_t)(taps * p->in_c));
    if (in_row && end > before) {
        memcpy(edge + before * p->in_c, source + before * p->in_c, (size_t)((end - before) * p->in_c));
    }
    return edge;
}

/* A unit of two elements. */
static inline uint32_t unit_of(int32_t first, int32_t second) {
    return (uint32_t)(uint16_t)first | (uint32_t)second << 16;
}

/* The units of the last one, two or three elements of a run. The units of a panel of `width` positions lie side by
 * side. */
static inline void widen_rest(uint32_t *panel, const int8_t *x, int32_t rest, int32_t width) {
    if (rest == 3) {
        panel[0] = unit_of(x[0], x[2]);
        panel[width] = unit_of(x[1], 0);
    } else {
        panel[0] = unit_of(x[0], rest == 2 ? x[1] : 0);
    }
}

static void fill_panel(const nnacl_conv2d_params *p, nnacl_runs runs, const int8_t *x, int32_t position, int32_t count,
                       uint32_t *panel, int8_t *edges) {
    window windows[BLOCK];
    const int32_t edge_size = (runs.length + 3) / 4 * 4, groups = runs.length / 4, rest = runs.length % 4;
    const int32_t rest_units = (rest + 1) / 2;
    for (int32_t i = 0; i < count; i++) {
        windows[i] = window_at(p, x, position + i);
    }
    for (int32_t run = 0; run < runs.count; run++) {
        const int8_t *source[BLOCK];
        for (int32_t i = 0; i < count; i++) {
            source[i] = find_run(p, &windows[i], run, edges + i * edge_size);
        }
        if (count == BLOCK) {
            nnacl_widen4_s8_dsp(panel, source, groups);
        } else {
            nnacl_widen1_s8_dsp(panel, source[0], groups);
        }
        panel += groups * 2 * count;
        for (int32_t i = 0; i < count && rest; i++) {
            widen_rest(panel + i, source[i] + groups * 4, rest, count);
        }
        panel += rest_units * count;
    }
}

/* All pairs of channels, with lines. */
static void run_lines(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const void *(*const multiply)(const nnacl_gemm_dsp *) = count == BLOCK ? nnacl_gemm4_s8_dsp : nnacl_gemm1_s8_dsp;
    int8_t *const y = gemm->y;
    gemm->pairs = p->out_c / 2;
    gemm->weights = multiply(gemm);
    if (p->out_c % 2) {
        gemm->pairs = 1;
        gemm->y = y + p->out_c - 2;
        multiply(gemm);
    }
    nnacl_clamp_bytes_dsp(y, count * p->out_c, p->q_min, p->q_max);
}

/* All pairs of channels, requantized exactly. */
static void run_exact(const nnacl_conv2d_params *p, nnacl_gemm_dsp *gemm, int32_t count) {
    const void *(*const multiply)(const nnacl_gemm_dsp *) = count == BLOCK ? nnacl_gemm4_s8_dsp : nnacl_gemm1_s8_dsp;
    gemm->pairs = 1;
    for (int32_t first = 0; first < p->out_c; first += 2) {
        const int32_t a = first + 1 < p->out_c ? first : first - 1;
        gemm->weights = multiply(gemm);
        const int32_t *requant = (const int32_t *)gemm->weights - 4;
        for (int32_t i = 0; i < 2 * count; i++) {
            const int32_t second = i >= count, channel = a + second;
            gemm->y[(ptrdiff_t)(i - second * count) * p->out_c + channel] = nnacl_finish_exact_dsp(
                gemm->sums[i], requant + 2 * second, nnacl_channel_rounding(p->rounding, p->out_c, channel), p->y_zero,
                p->q_min, p->q_max);
        }
    }
}

void nnacl_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    const int32_t *weights = in[1];
    uint32_t *panel = ctx->workspace;
    int32_t sums[2 * BLOCK];
    nnacl_gemm_dsp gemm = {
        .panel = panel, .units = nnacl_runs_units(runs), .stride = p->out_c, .shift = weights[0], .sums = sums};

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t end = rows.end * p->out_w;
    for (int32_t position = rows.begin * p->out_w; position < end;) {
        const int32_t count = end - position >= BLOCK ? BLOCK : 1;
        fill_panel(p, runs, in[0], position, count, panel, (int8_t *)(panel + gemm.units * BLOCK));
        gemm.weights = weights + 1;
        gemm.y = (int8_t *)out[0] + (ptrdiff_t)position * p->out_c;
        if (gemm.shift) {
            run_lines(p, &gemm, count);
        } else {
            run_exact(p, &gemm, count);
        }
        position += count;
    }
}
