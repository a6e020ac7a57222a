/* SPDX-License-Identifier: Apache-2.0 */
#include "common/float_math.h"
#include "common/share.h"
#include "softmax/softmax.h"

/* The largest of `depth` values `step` apart; NaN if there is one. */
static float largest(const float *x, int32_t depth, ptrdiff_t step) {
    float max = x[0];
    for (int32_t j = 1; j < depth; j++) {
        const float v = x[j * step];
        max = v > max || v != v ? v : max;
    }
    return max;
}

/* Eight partial sums in turn keep the sum of many values accurate. */
static float sum_lanes(float *lanes) {
    for (int32_t half = 4; half > 0; half /= 2) {
        for (int32_t i = 0; i < half; i++) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

NNACL_DECLARE(nnacl_softmax_f32_c);
void nnacl_softmax_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const ptrdiff_t step = p->inner;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = (ptrdiff_t)(i / p->inner) * p->depth * step + i % p->inner;
        const float *x = (const float *)in[0] + start;
        float *y = (float *)out[0] + start;
        const float max = largest(x, p->depth, step);
        float lanes[8] = {0.0f};
        for (int32_t j = 0; j < p->depth; j++) {
            y[j * step] = nnacl_expf((x[j * step] - max) * p->beta);
            lanes[j & 7] += y[j * step];
        }
        const float factor = 1.0f / sum_lanes(lanes);
        for (int32_t j = 0; j < p->depth; j++) {
            y[j * step] *= factor;
        }
    }
}

NNACL_DECLARE(nnacl_log_softmax_f32_c);
void nnacl_log_softmax_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const ptrdiff_t step = p->inner;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = (ptrdiff_t)(i / p->inner) * p->depth * step + i % p->inner;
        const float *x = (const float *)in[0] + start;
        float *y = (float *)out[0] + start;
        const float max = largest(x, p->depth, step);
        float lanes[8] = {0.0f};
        for (int32_t j = 0; j < p->depth; j++) {
            y[j * step] = (x[j * step] - max) * p->beta;
            lanes[j & 7] += nnacl_expf(y[j * step]);
        }
        const float logarithm = nnacl_logf(sum_lanes(lanes));
        for (int32_t j = 0; j < p->depth; j++) {
            y[j * step] -= logarithm;
        }
    }
}
