/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/share.h"
#include "norm/norm.h"

/* Positions whose sum is formed on its own before it joins the total: keeps sums over large images accurate. */
#define BLOCK 64

/* sums[c] = sum over all positions of x, or of (x - means[c])^2 where there are means. `block` is scratch. */
static void sum_channels(const nnacl_group_norm_params *p, const float *x, const float *means, int32_t width,
                         float *restrict block, float *restrict sums) {
    for (int32_t c = 0; c < width; c++) {
        sums[c] = 0.0f;
    }
    for (int32_t start = 0; start < p->positions; start += BLOCK) {
        const int32_t end = p->positions - start < BLOCK ? p->positions : start + BLOCK;
        for (int32_t c = 0; c < width; c++) {
            block[c] = 0.0f;
        }
        for (int32_t i = start; i < end; i++) {
            const float *row = x + (ptrdiff_t)i * p->channels;
            if (means) {
                for (int32_t c = 0; c < width; c++) {
                    const float d = row[c] - means[c];
                    block[c] += d * d;
                }
            } else {
                for (int32_t c = 0; c < width; c++) {
                    block[c] += row[c];
                }
            }
        }
        for (int32_t c = 0; c < width; c++) {
            sums[c] += block[c];
        }
    }
}

/* Every channel gets the mean over its group. */
static void spread_means(const nnacl_group_norm_params *p, int32_t width, float *sums) {
    const int32_t size = p->channels / p->groups;
    const float count = (float)((int64_t)size * p->positions);
    for (int32_t first = 0; first < width; first += size) {
        float sum = 0.0f;
        for (int32_t c = first; c < first + size; c++) {
            sum += sums[c];
        }
        for (int32_t c = first; c < first + size; c++) {
            sums[c] = sum / count;
        }
    }
}

/* Channels first .. first + width - 1 of one sample. */
static void normalize(const nnacl_group_norm_params *p, const float *x, const float *scale, const float *bias,
                      int32_t width, float *restrict workspace, float *restrict y) {
    float *means = workspace, *factors = workspace + width, *block = workspace + 2 * width;
    sum_channels(p, x, NULL, width, block, means);
    spread_means(p, width, means);
    sum_channels(p, x, means, width, block, factors);
    spread_means(p, width, factors);
    for (int32_t c = 0; c < width; c++) {
        factors[c] = (scale ? scale[c] : 1.0f) / sqrtf(factors[c] + p->epsilon);
    }
    for (int32_t i = 0; i < p->positions; i++) {
        const ptrdiff_t row = (ptrdiff_t)i * p->channels;
        for (int32_t c = 0; c < width; c++) {
            const float value = (x[row + c] - means[c]) * factors[c];
            y[row + c] = bias ? value + bias[c] : value;
        }
    }
}

NNACL_DECLARE(nnacl_group_norm_f32_c);
void nnacl_group_norm_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_group_norm_params *p = params;
    const float *scale = p->has_scale ? in[1] : NULL, *bias = p->has_bias ? in[2] : NULL;
    const int32_t size = p->channels / p->groups;
    const nnacl_range share = nnacl_share(ctx, p->batch * p->groups);
    int32_t item = share.begin;
    while (item < share.end) {
        const int32_t group = item % p->groups;
        const int32_t rest = p->groups - group;
        const int32_t count = share.end - item < rest ? share.end - item : rest;
        const int32_t first = group * size;
        const ptrdiff_t start = (ptrdiff_t)(item / p->groups) * p->positions * p->channels + first;
        normalize(p, (const float *)in[0] + start, scale ? scale + first : NULL, bias ? bias + first : NULL,
                  count * size, ctx->workspace, (float *)out[0] + start);
        item += count;
    }
}
