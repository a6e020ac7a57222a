/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the integer dense layers for MVE go over rows and units; the products are theirs. */
#ifndef NNACL_DENSE_WALK_MVE_H
#define NNACL_DENSE_WALK_MVE_H

#include "common/finish_s8.h"
#include "common/gemm_s8_mve.h"
#include "common/requant.h"
#include "common/share.h"
#include "dense/dense.h"

/* A layer, and how its rows are multiplied with the weights of all units. */
typedef struct nnacl_mve_dense {
    int32_t rows, depth, units;
    int32_t rounding, y_zero, q_min, q_max;
    const void *(*multiply)(const nnacl_gemm_mve *gemm);
    int32_t chunk_words; /* of the weights of four units */
    bool has_zero;       /* the sums of the elements count */
    int32_t zero, last;  /* times them: `zero` and `last` of gemm_packed_mve.h */
} nnacl_mve_dense;

/* For an initialiser: what the parameters of dense layers have under the same names. */
#define NNACL_MVE_DENSE_SAME(p)                                                                                        \
    .rows = (p)->rows, .depth = (p)->depth, .units = (p)->units, .rounding = (p)->rounding, .y_zero = (p)->y_zero,     \
    .q_min = (p)->q_min, .q_max = (p)->q_max

/* Units unit .. unit + 3 of a row, requantized exactly if they have no line. */
static void nnacl_mve_dense_exact(const nnacl_mve_dense *d, nnacl_gemm_mve *gemm, int32_t shift, int32_t unit) {
    int32_t sums[4];
    const int32_t *ends = (const int32_t *)gemm->weights + 4 + (gemm->chunks + (gemm->rest > 0)) * d->chunk_words;
    gemm->sums = sums;
    gemm->shift = ends[0] < 0 ? 0 : shift;
    gemm->channels = d->units - unit < 4 ? d->units - unit : 4;
    gemm->weights = d->multiply(gemm);
    gemm->sums = NULL;
    for (int32_t i = 0; !gemm->shift && i < gemm->channels; i++) {
        const int32_t requant[2] = {ends[i], ends[4 + i]};
        gemm->y[0][i] = nnacl_finish_exact(sums[i], requant, nnacl_channel_rounding(d->rounding, d->units, unit + i),
                                           d->y_zero, d->q_min, d->q_max);
    }
    gemm->y[0] += 4;
}

/* This part of the work. `weights` are the shift of the lines and then what `multiply` reads. */
static inline void nnacl_mve_dense_walk(const nnacl_ctx *ctx, const nnacl_mve_dense *d, const int8_t *x,
                                        const int32_t *weights, int8_t *y) {
    const nnacl_range groups = nnacl_share(ctx, (d->units + 3) / 4);
    const int32_t first = groups.begin * 4, end = groups.end * 4 < d->units ? groups.end * 4 : d->units;
    const ptrdiff_t group_words = 12 + (ptrdiff_t)(d->depth + 15) / 16 * d->chunk_words;
    const int32_t shift = -NNACL_SHIFT_OF(weights[0]);
    const bool has_lines = !NNACL_NEEDS_EXACT || (shift && -shift == weights[0]);
    y += first;
    for (int32_t row = 0; row < d->rows && first < end; row++, x += d->depth, y += d->units) {
        const int8_t *runs[2] = {x, x};
        nnacl_gemm_packed_mve packed = {.gemm = {
                                            .runs = runs,
                                            .runs_end = runs + 2,
                                            .chunks = d->depth / 16,
                                            .rest = d->depth % 16,
                                            .weights = weights + 1 + groups.begin * group_words,
                                            .channels = end - first,
                                            .y = {y, y},
                                            .shift = shift,
                                        }};
        nnacl_gemm_mve *const gemm = &packed.gemm;
        if (d->has_zero) {
            const uint32_t sum = (uint32_t)nnacl_sum_runs_s8_mve(gemm, 0);
            gemm->zero[0] = (int32_t)((uint32_t)d->zero * sum);
            packed.last[0] = (int32_t)((uint32_t)d->last * sum);
        }
        if (has_lines) {
            d->multiply(gemm);
        }
        for (int32_t unit = first; NNACL_NEEDS_EXACT && unit < end && !has_lines; unit += 4) {
            nnacl_mve_dense_exact(d, gemm, shift, unit);
        }
        nnacl_clamp_bytes(y, end - first, d->q_min, d->q_max);
    }
}

#endif
