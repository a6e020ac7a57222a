/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"
#include "common/gemm_s8_mve.h"
#include "common/requant.h"
#include "common/share.h"
#include "conv/conv.h"
#include "conv/conv_windows.h"

NNACL_DECLARE(nnacl_conv2d_s8_mve);

/* Positions that are computed together. */
#define BLOCK 2

/* What stays the same in one call. */
typedef struct job {
    const nnacl_conv2d_params *p;
    nnacl_runs runs;
    bool is_pointwise; /* one tap, and neighbours in the output are neighbours in the input */
    bool is_joined;    /* the runs of a position are copied together */
    const int8_t **table;
    int8_t *zeros;              /* a run of zero points */
    int8_t *copies;             /* for each position of a block room for all its runs */
    int32_t tap_step, row_step; /* from a run to the next in a kernel row, and from the last to the first of the next */
    int32_t taps;               /* runs of a kernel row */
    int32_t row_length;         /* bytes from a kernel row to the next in the input */
} job;

/* The runs of a position whose window lies in the input. */
static void list_inside(const job *j, const int8_t *corner, int32_t position) {
    const int8_t **entry = j->table + position;
    const int32_t row = j->taps * j->tap_step + j->row_step;
    if (j->is_joined) {
        int8_t *copy = j->copies + position * j->runs.count * j->runs.length;
        *entry = copy;
        if (j->taps == 1) {
            nnacl_copy_rows_mve(copy, j->runs.length, corner, row, j->runs.length, j->runs.count);
            return;
        }
        for (int32_t run = 0; run < j->runs.count; run += j->taps) {
            nnacl_copy_rows_mve(copy, j->runs.length, corner, j->tap_step, j->runs.length, j->taps);
            copy += j->taps * j->runs.length;
            corner += row;
        }
        return;
    }
    for (int32_t run = 0, tap = 0; run < j->runs.count; run++) {
        entry[run * BLOCK] = corner;
        corner += j->tap_step;
        if (++tap == j->taps) {
            tap = 0;
            corner += j->row_step;
        }
    }
}

/* Those of a position whose window is partly in the padding. */
static void list_edge(const job *j, const nnacl_conv_window *w, int32_t position) {
    const nnacl_conv2d_params *p = j->p;
    const int8_t **entry = j->table + position;
    int8_t *copy = j->copies + position * j->runs.count * j->runs.length;
    *entry = copy;
    if (j->is_joined && j->taps == 1) { /* what is in the input is a rectangle */
        const int32_t top = w->y < 0 ? (-w->y + p->dilation_h - 1) / p->dilation_h : 0, left = w->x < 0 ? -w->x : 0;
        const int32_t high = (p->in_h - w->y + p->dilation_h - 1) / p->dilation_h, wide = p->in_w - w->x;
        const int32_t bottom = high < p->kernel_h ? high : p->kernel_h, right = wide < p->kernel_w ? wide : p->kernel_w;
        memset(copy, p->x_zero, (size_t)(j->runs.count * j->runs.length));
        if (top < bottom && left < right) {
            nnacl_copy_rows_mve(copy + top * j->runs.length + left * p->in_c, j->runs.length,
                                w->corner + top * j->row_length + left * p->in_c, j->row_length,
                                (right - left) * p->in_c, bottom - top);
        }
        return;
    }
    for (int32_t run = 0; run < j->runs.count; run++, copy += j->runs.length) {
        const int8_t *source = nnacl_window_run(p, w, run, j->zeros, copy);
        if (!j->is_joined) {
            entry[run * BLOCK] = source;
        } else if (source != copy) {
            nnacl_copy_rows_mve(copy, 0, source, 0, j->runs.length, 1);
        }
    }
}

/* Lists the runs of `count` positions and moves the window on behind them. One position stands for two. */
static void list_runs(const job *j, nnacl_conv_window *next, int32_t count) {
    const nnacl_conv2d_params *p = j->p;
    const int32_t last = count - 1, step = p->stride_w * p->in_c;
    if (j->is_pointwise) {
        j->table[0] = next->corner;
        j->table[1] = next->corner + last * p->in_c;
        next->corner += count * p->in_c;
        return;
    }
    if (next->column + count <= p->out_w && nnacl_taps_fit(next->y, p->kernel_h, p->dilation_h, p->in_h) &&
        next->x >= 0 && nnacl_taps_fit(next->x + last * p->stride_w, p->kernel_w, p->dilation_w, p->in_w)) {
        list_inside(j, next->corner, 0);
        list_inside(j, next->corner + last * step, 1);
        next->column += last;
        next->x += last * p->stride_w;
        next->corner += last * step;
        nnacl_window_next(p, next);
        return;
    }
    for (int32_t i = 0; i < BLOCK; i++) {
        if (nnacl_taps_fit(next->y, p->kernel_h, p->dilation_h, p->in_h) &&
            nnacl_taps_fit(next->x, p->kernel_w, p->dilation_w, p->in_w)) {
            list_inside(j, next->corner, i);
        } else {
            list_edge(j, next, i);
        }
        if (i < last) {
            nnacl_window_next(p, next);
        }
    }
    nnacl_window_next(p, next);
}

typedef const void *(*multiply_function)(const nnacl_gemm_mve *);

/* All channels, of which some or all are requantized exactly. */
static void run_exact(const nnacl_conv2d_params *p, nnacl_gemm_mve gemm, multiply_function multiply, int32_t count) {
    const int32_t chunks = (gemm.chunks + (gemm.rest > 0)) * (int32_t)((gemm.runs_end - gemm.runs) / BLOCK);
    const int32_t words = 12 + 16 * chunks, shift = gemm.shift;
    int8_t *const y[2] = {gemm.y[0], gemm.y[1]};
    int32_t sums[4 * BLOCK];
    gemm.sums = sums;
    for (int32_t first = 0, channels; first < p->out_c; first += channels) {
        const int32_t *ends = (const int32_t *)gemm.weights + words - 8, *next = ends;
        for (channels = 0; shift && first + channels < p->out_c && next[0] >= 0; next += words) {
            channels += 4;
        }
        gemm.shift = channels ? shift : 0;
        gemm.channels = channels < p->out_c - first ? channels : p->out_c - first;
        gemm.y[0] = y[0] + first;
        gemm.y[1] = y[1] + first;
        gemm.weights = multiply(&gemm);
        channels += channels ? 0 : 4;
        for (int32_t i = 0; !gemm.shift && i < 4 * count; i++) {
            const int32_t channel = first + i % 4, requant[2] = {ends[i % 4], ends[4 + i % 4]};
            if (channel < p->out_c) {
                y[i / 4][channel] =
                    nnacl_finish_exact(sums[i], requant, nnacl_channel_rounding(p->rounding, p->out_c, channel),
                                       p->y_zero, p->q_min, p->q_max);
            }
        }
    }
}

void nnacl_conv2d_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_runs runs = nnacl_conv2d_runs(p), chunked = nnacl_conv2d_chunked_runs(p);
    const int32_t *weights = in[1];
    const int8_t **table = ctx->workspace;
    int8_t *zeros = (int8_t *)(table + BLOCK * chunked.count);
    const int32_t taps = p->dilation_w == 1 ? 1 : p->kernel_w, tap_step = p->dilation_w * p->in_c;
    const job j = {
        .p = p,
        .runs = runs,
        .is_pointwise = p->kernel_h * p->kernel_w == 1 && p->stride_h * p->stride_w == 1 && p->in_h == p->out_h &&
                        p->in_w == p->out_w && p->pad_top + p->pad_left == 0,
        .is_joined = chunked.count != runs.count,
        .table = table,
        .zeros = zeros,
        .copies = zeros + runs.length,
        .taps = taps,
        .tap_step = tap_step,
        .row_step = p->dilation_h * p->in_w * p->in_c - taps * tap_step,
        .row_length = p->dilation_h * p->in_w * p->in_c,
    };
    nnacl_gemm_mve gemm = {
        .runs = table,
        .runs_end = table + BLOCK * chunked.count,
        .chunks = chunked.length / 16,
        .rest = chunked.length % 16,
        .weights = weights + 1,
        .channels = p->out_c,
        .shift = -NNACL_SHIFT_OF(weights[0]),
    };
    const bool has_zero = NNACL_NEEDS_W_ZERO && p->w_zero != 0;
    const multiply_function multiply = has_zero ? nnacl_gemm2_zero_s8_mve : nnacl_gemm2_s8_mve;
    memset(zeros, p->x_zero, (size_t)runs.length);

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    nnacl_conv_window next = nnacl_window_first(p, in[0], rows.begin);
    int8_t *y = (int8_t *)out[0] + (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t left = (rows.end - rows.begin) * p->out_w; left > 0; left -= BLOCK) {
        const int32_t count = left < BLOCK ? left : BLOCK;
        list_runs(&j, &next, count);
        gemm.y[0] = y;
        gemm.y[1] = y + (count - 1) * p->out_c;
        for (int32_t i = 0; has_zero && i < BLOCK; i++) {
            gemm.zero[i] = -p->w_zero * nnacl_sum_runs_s8_mve(&gemm, i);
        }
        if (!NNACL_NEEDS_EXACT || (gemm.shift && -gemm.shift == weights[0])) {
            multiply(&gemm);
        } else {
            run_exact(p, gemm, multiply, count);
        }
        nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
        y += count * p->out_c;
    }
}
