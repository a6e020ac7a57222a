/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/resize_taps.h"

NNACL_DECLARE(nnacl_resize_f32_c);

/* The row of x, and its factor, that a combination of taps of the other dimensions means. */
static const float *row_of(const nnacl_resize_params *p, nnacl_resize_scratch *s, const float *x, int32_t combination,
                           float *factor) {
    const ptrdiff_t source = nnacl_resize_source(p, s, combination);
    *factor = 1.0f;
    for (int32_t i = 0; i < p->rank - 1; i++) {
        *factor *= ((const float *)nnacl_resize_weights(p, s, i))[s->tap[i]];
    }
    return x + source * p->from[p->rank - 1] * p->block;
}

/* Adds a row of x, times `factor`, as the last dimension samples it. */
static void add_row(const nnacl_resize_params *p, const int32_t *index, const float *weight, float factor,
                    const float *restrict x, float *restrict y) {
    const int32_t last = p->rank - 1, taps = p->taps[last], block = p->block;
    for (int32_t o = 0; o < p->to[last]; o++) {
        const int32_t first = o * taps;
        for (int32_t t = first; t < first + taps && index[first] >= 0; t++) {
            const float w = factor * weight[t];
            const float *restrict a = x + (ptrdiff_t)index[t] * block;
            for (int32_t c = 0; c < block; c++) {
                y[c] += w * a[c];
            }
        }
        y += block;
    }
}

/* Two taps of two rows at once: the same sums in the same order. */
static void add_two_rows(const nnacl_resize_params *p, const int32_t *index, const float *weight, const float *factor,
                         const float *const *x, float *restrict y) {
    const int32_t last = p->rank - 1, block = p->block;
    for (int32_t o = 0; o < p->to[last]; o++, y += block) {
        const int32_t left = index[2 * o], right = index[2 * o + 1];
        if (left < 0) {
            continue;
        }
        const float *restrict a = x[0] + (ptrdiff_t)left * block, *restrict b = x[0] + (ptrdiff_t)right * block;
        const float *restrict d = x[1] + (ptrdiff_t)left * block, *restrict e = x[1] + (ptrdiff_t)right * block;
        const float wa = factor[0] * weight[2 * o], wb = factor[0] * weight[2 * o + 1];
        const float wd = factor[1] * weight[2 * o], we = factor[1] * weight[2 * o + 1];
        for (int32_t c = 0; c < block; c++) {
            y[c] = (((y[c] + wa * a[c]) + wb * b[c]) + wd * d[c]) + we * e[c];
        }
    }
}

/* Single elements along the last dimension: the rows of x are summed before they are sampled. */
static void sample_sum(const nnacl_resize_params *p, nnacl_resize_scratch *s, const float *x, float *restrict sum,
                       float *restrict y) {
    const int32_t last = p->rank - 1, taps = p->taps[last], size = p->from[last];
    const int32_t *index = nnacl_resize_index(s, last);
    const float *weight = nnacl_resize_weights(p, s, last);
    for (int32_t i = 0; i < size; i++) {
        sum[i] = 0.0f;
    }
    for (int32_t combination = 0; combination < s->combinations; combination++) {
        float factor;
        const float *restrict a = row_of(p, s, x, combination, &factor);
        for (int32_t i = 0; i < size; i++) {
            sum[i] += factor * a[i];
        }
    }
    for (int32_t o = 0; o < p->to[last]; o++, index += taps, weight += taps) {
        if (index[0] < 0) {
            continue;
        }
        float value = weight[0] * sum[index[0]];
        for (int32_t t = 1; t < taps; t++) {
            value += weight[t] * sum[index[t]];
        }
        y[o] = value;
    }
}

void nnacl_resize_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_resize_params *p = params;
    nnacl_resize_scratch *s = nnacl_resize_start(p, ctx->workspace);
    const int32_t last = p->rank - 1, *index = nnacl_resize_index(s, last);
    const float *weights = nnacl_resize_weights(p, s, last);
    const ptrdiff_t y_row = (ptrdiff_t)p->to[last] * p->block;
    const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));
    for (int32_t row = rows.begin; row < rows.end; row++) {
        nnacl_resize_turn(p, s, row);
        float *y = (float *)out[0] + row * y_row;
        for (int32_t o = 0; o < p->to[last]; o++) {
            const bool outside = s->combinations == 0 || index[(ptrdiff_t)o * p->taps[last]] < 0;
            for (int32_t c = 0; c < p->block; c++) {
                y[(ptrdiff_t)o * p->block + c] = outside ? p->extrapolation : 0.0f;
            }
        }
        if (p->block == 1 && s->combinations > 0) {
            sample_sum(p, s, in[0], nnacl_resize_sums(s), y);
            continue;
        }
        float factor[2];
        const float *x[2];
        if (s->combinations == 2 && p->taps[last] == 2) {
            x[0] = row_of(p, s, in[0], 0, &factor[0]);
            x[1] = row_of(p, s, in[0], 1, &factor[1]);
            add_two_rows(p, index, weights, factor, x, y);
            continue;
        }
        for (int32_t combination = 0; combination < s->combinations; combination++) {
            x[0] = row_of(p, s, in[0], combination, &factor[0]);
            add_row(p, index, weights, factor[0], x[0], y);
        }
    }
}
