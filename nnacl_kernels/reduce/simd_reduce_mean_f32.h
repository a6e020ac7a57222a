/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of reduce_mean over columns for the vectors of whatever vector_f32_*.h was included before. */
#ifndef NNACL_SIMD_REDUCE_MEAN_F32_H
#define NNACL_SIMD_REDUCE_MEAN_F32_H

#include "common/share.h"
#include "reduce/reduce.h"

#define BLOCK 4  /* vectors of neighbours that are summed at once */
#define PIECE 64 /* elements whose sum is formed on its own before it joins the total: keeps long sums accurate */

/* Means of `width` <= BLOCK * LANES neighbours, whose next elements lie `step` further. */
NNACL_ALWAYS_INLINE void means(const float *x, ptrdiff_t step, int32_t count, int32_t width, float *y,
                               const bool whole) {
    vector totals[BLOCK];
#pragma GCC unroll 4
    for (int32_t i = 0; i < BLOCK; i++) {
        totals[i] = spread(0.0f);
    }
    for (int32_t j = 0; j < count;) {
        const int32_t end = count - j < PIECE ? count : j + PIECE;
        vector sums[BLOCK];
#pragma GCC unroll 4
        for (int32_t i = 0; i < BLOCK; i++) {
            sums[i] = spread(0.0f);
        }
        for (; j < end; j++, x += step) {
#pragma GCC unroll 4
            for (int32_t i = 0; i < BLOCK; i++) {
                const int32_t lanes = whole ? LANES : width - i * LANES;
                if (lanes > 0) {
                    sums[i] = add(sums[i], load(x + i * LANES, lanes_of(lanes)));
                }
            }
        }
#pragma GCC unroll 4
        for (int32_t i = 0; i < BLOCK; i++) {
            totals[i] = add(totals[i], sums[i]);
        }
    }
    const vector divisor = spread((float)count);
#pragma GCC unroll 4
    for (int32_t i = 0; i < BLOCK; i++) {
        const int32_t lanes = whole ? LANES : width - i * LANES;
        if (lanes > 0) {
            store(y + i * LANES, lanes_of(lanes), divide(totals[i], divisor));
        }
    }
}

NNACL_ALWAYS_INLINE void reduce_mean(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_reduce_params *p = params;
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, width = most < BLOCK * LANES ? most : BLOCK * LANES;
        const float *x = (const float *)in[0] + (ptrdiff_t)outer * count * inner + channel;
        float *y = (float *)out[0] + output;
        if (width == BLOCK * LANES) {
            means(x, inner, count, width, y, true);
        } else {
            means(x, inner, count, width, y, false);
        }
        output += width;
    }
}

#endif
