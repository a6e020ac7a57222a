/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of svdf: all but the products of bytes, which are of an instruction set. */
#ifndef NNACL_SVDF_RUN_H
#define NNACL_SVDF_RUN_H

#include "common/fixed_point.h"
#include "common/share.h"
#include "rnn/rnn.h"

/* Filters whose features are computed together. */
#define NNACL_SVDF_FILTERS 4

/* The features of `count` (at most NNACL_SVDF_FILTERS) filters from `filter` on. */
typedef void (*nnacl_svdf_features)(const nnacl_svdf_params *p, const int8_t *x, const int8_t *weights, int32_t filter,
                                    int32_t count, const void *workspace, int32_t *features);
/* What is done once with an input, or NULL. */
typedef void (*nnacl_svdf_begin)(const nnacl_svdf_params *p, const int8_t *x, void *workspace);

/* Moves `count` numbers from `from` to `to`, which may lie just before it, and returns the sum of their products with
 * the weights, modulo 2^32. */
typedef int32_t (*nnacl_svdf_move)(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count);

static inline void nnacl_run_svdf(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                                  nnacl_svdf_begin begin, nnacl_svdf_features compute, nnacl_svdf_move move) {
    const nnacl_svdf_params *p = params;
    const int16_t *times = in[2];
    const int32_t *bias = p->has_bias ? in[3] : NULL;
    const int32_t filters = p->units * p->rank;
    int8_t *y = out[0];

    const nnacl_range share = nnacl_share(ctx, p->batch * p->units);
    int32_t features[NNACL_SVDF_FILTERS], computed = 0, last = -1;
    for (int32_t i = share.begin; i < share.end; i++) {
        const int32_t unit = i % p->units, batch = i / p->units;
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)batch * p->size;
        if (batch != last) {
            last = batch;
            computed = unit * p->rank;
            if (begin) {
                begin(p, x, ctx->workspace);
            }
        }
        uint32_t sum = bias ? (uint32_t)bias[unit] : 0;
        for (int32_t filter = unit * p->rank; filter < (unit + 1) * p->rank; filter++) {
            const ptrdiff_t first = ((ptrdiff_t)batch * filters + filter) * p->memory;
            if (filter == computed) {
                const int32_t left = filters - filter;
                const int32_t count = left < NNACL_SVDF_FILTERS ? left : NNACL_SVDF_FILTERS;
                compute(p, x, in[1], filter, count, ctx->workspace, features + NNACL_SVDF_FILTERS - count);
                computed += count;
            }
            const int32_t feature = features[filter - computed + NNACL_SVDF_FILTERS];
            const int32_t newest = nnacl_saturate_s16(nnacl_requant_double(feature, p->state_mult, p->state_shift));
            const int16_t *old = (const int16_t *)in[4] + first, *weights = times + (ptrdiff_t)filter * p->memory;
            int16_t *memory = (int16_t *)out[1] + first;
            sum += (uint32_t)move(old + 1, memory, weights, p->memory - 1);
            sum += (uint32_t)(newest * weights[p->memory - 1]);
            memory[p->memory - 1] = (int16_t)newest;
        }
        const int32_t scaled = nnacl_requant_double((int32_t)sum, p->y_mult, p->y_shift);
        y[i] = (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
    }
}

#endif
