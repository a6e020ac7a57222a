/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the integer convolutions for MVE go over an image; the products are theirs. */
#ifndef NNACL_CONV_WALK_MVE_H
#define NNACL_CONV_WALK_MVE_H

#include "common/finish_s8.h"
#include "common/gemm_s8_mve.h"
#include "common/requant.h"
#include "common/share.h"
#include "conv/conv_windows.h"

/* Positions that are computed together. */
#define NNACL_MVE_BLOCK 2

/* What stays the same in one call. */
typedef struct nnacl_mve_job {
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
} nnacl_mve_job;

/* The runs of a position whose window lies in the input. */
static void nnacl_mve_list_inside(const nnacl_mve_job *j, const int8_t *corner, int32_t position) {
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
        entry[run * NNACL_MVE_BLOCK] = corner;
        corner += j->tap_step;
        if (++tap == j->taps) {
            tap = 0;
            corner += j->row_step;
        }
    }
}

/* Those of a position whose window is partly in the padding. */
static void nnacl_mve_list_edge(const nnacl_mve_job *j, const nnacl_conv_window *w, int32_t position) {
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
            entry[run * NNACL_MVE_BLOCK] = source;
        } else if (source != copy) {
            nnacl_copy_rows_mve(copy, 0, source, 0, j->runs.length, 1);
        }
    }
}

/* Lists the runs of `count` positions and moves the window on behind them. One position stands for two. */
static void nnacl_mve_list_runs(const nnacl_mve_job *j, nnacl_conv_window *next, int32_t count) {
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
        nnacl_mve_list_inside(j, next->corner, 0);
        nnacl_mve_list_inside(j, next->corner + last * step, 1);
        next->column += last;
        next->x += last * p->stride_w;
        next->corner += last * step;
        nnacl_window_next(p, next);
        return;
    }
    for (int32_t i = 0; i < NNACL_MVE_BLOCK; i++) {
        if (nnacl_taps_fit(next->y, p->kernel_h, p->dilation_h, p->in_h) &&
            nnacl_taps_fit(next->x, p->kernel_w, p->dilation_w, p->in_w)) {
            nnacl_mve_list_inside(j, next->corner, i);
        } else {
            nnacl_mve_list_edge(j, next, i);
        }
        if (i < last) {
            nnacl_window_next(p, next);
        }
    }
    nnacl_window_next(p, next);
}

/* How a kernel multiplies the runs of two positions with the weights of all channels. */
typedef struct nnacl_mve_products {
    const void *(*multiply)(const nnacl_gemm_mve *gemm);
    int32_t chunk_words; /* of the weights of four channels */
    bool has_zero;       /* the sums of the elements count */
    int32_t zero, last;  /* times them: `zero` and `last` of gemm_packed_mve.h */
} nnacl_mve_products;

/* All channels, of which some or all are requantized exactly. */
static void nnacl_mve_run_exact(const nnacl_conv2d_params *p, nnacl_gemm_packed_mve packed,
                                const nnacl_mve_products *how, int32_t count) {
    nnacl_gemm_mve *const gemm = &packed.gemm;
    const int32_t runs = (int32_t)((gemm->runs_end - gemm->runs) / NNACL_MVE_BLOCK);
    const int32_t chunks = (gemm->chunks + (gemm->rest > 0)) * runs;
    const int32_t words = 12 + how->chunk_words * chunks, shift = gemm->shift;
    int8_t *const y[2] = {gemm->y[0], gemm->y[1]};
    int32_t sums[4 * NNACL_MVE_BLOCK];
    gemm->sums = sums;
    for (int32_t first = 0, channels; first < p->out_c; first += channels) {
        const int32_t *ends = (const int32_t *)gemm->weights + words - 8, *next = ends;
        for (channels = 0; shift && first + channels < p->out_c && next[0] >= 0; next += words) {
            channels += 4;
        }
        gemm->shift = channels ? shift : 0;
        gemm->channels = channels < p->out_c - first ? channels : p->out_c - first;
        gemm->y[0] = y[0] + first;
        gemm->y[1] = y[1] + first;
        gemm->weights = how->multiply(gemm);
        channels += channels ? 0 : 4;
        for (int32_t i = 0; !gemm->shift && i < 4 * count; i++) {
            const int32_t channel = first + i % 4, requant[2] = {ends[i % 4], ends[4 + i % 4]};
            if (channel < p->out_c) {
                y[i / 4][channel] =
                    nnacl_finish_exact(sums[i], requant, nnacl_channel_rounding(p->rounding, p->out_c, channel),
                                       p->y_zero, p->q_min, p->q_max);
            }
        }
    }
}

/* This part of the work. `weights` are the shift of the lines and then what `how` reads. */
static inline void nnacl_mve_walk(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                  const int32_t *weights, int8_t *y, const nnacl_mve_products *how) {
    const nnacl_runs runs = nnacl_conv2d_runs(p), chunked = nnacl_conv2d_chunked_runs(p);
    const int8_t **table = ctx->workspace;
    int8_t *zeros = (int8_t *)(table + NNACL_MVE_BLOCK * chunked.count);
    const int32_t taps = p->dilation_w == 1 ? 1 : p->kernel_w, tap_step = p->dilation_w * p->in_c;
    const nnacl_mve_job j = {
        .p = p,
        .runs = runs,
        .is_pointwise = p->kernel_h * p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->in_h == p->out_h &&
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
    nnacl_gemm_packed_mve packed = {.gemm = {
                                        .runs = table,
                                        .runs_end = table + NNACL_MVE_BLOCK * chunked.count,
                                        .chunks = chunked.length / 16,
                                        .rest = chunked.length % 16,
                                        .weights = weights + 1,
                                        .channels = p->out_c,
                                        .shift = -NNACL_SHIFT_OF(weights[0]),
                                    }};
    nnacl_gemm_mve *const gemm = &packed.gemm;
    memset(zeros, p->x_zero, (size_t)runs.length);

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    nnacl_conv_window next = nnacl_window_first(p, x, rows.begin);
    y += (ptrdiff_t)rows.begin * p->out_w * p->out_c;
    for (int32_t left = (rows.end - rows.begin) * p->out_w; left > 0; left -= NNACL_MVE_BLOCK) {
        const int32_t count = left < NNACL_MVE_BLOCK ? left : NNACL_MVE_BLOCK;
        nnacl_mve_list_runs(&j, &next, count);
        gemm->y[0] = y;
        gemm->y[1] = y + (count - 1) * p->out_c;
        for (int32_t i = 0; how->has_zero && i < NNACL_MVE_BLOCK; i++) {
            const uint32_t sum = (uint32_t)nnacl_sum_runs_s8_mve(gemm, i);
            gemm->zero[i] = (int32_t)((uint32_t)how->zero * sum);
            packed.last[i] = (int32_t)((uint32_t)how->last * sum);
        }
        if (!NNACL_NEEDS_EXACT || (gemm->shift && -gemm->shift == weights[0])) {
            how->multiply(gemm);
        } else {
            nnacl_mve_run_exact(p, packed, how, count);
        }
        nnacl_clamp_bytes(y, count * p->out_c, p->q_min, p->q_max);
        y += count * p->out_c;
    }
}

#endif
