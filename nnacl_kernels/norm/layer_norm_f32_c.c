/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/lane_sums.h"
#include "common/share.h"
#include "norm/norm.h"

/* y = (x - mean) * factor, then scale and bias where there are any. */
static void apply(const nnacl_norm_params *p, const float *x, float mean, float factor, const float *scale,
                  const float *bias, float *y) {
    if (scale && bias) {
        for (int32_t i = 0; i < p->depth; i++) {
            y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
        }
        return;
    }
    for (int32_t i = 0; i < p->depth; i++) {
        float value = (x[i] - mean) * factor;
        value = scale ? value * scale[i] : value;
        y[i] = bias ? value + bias[i] : value;
    }
}

NNACL_DECLARE(nnacl_layer_norm_f32_c);
void nnacl_layer_norm_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_norm_params *p = params;
    const float *scale = p->has_scale ? in[1] : NULL, *bias = p->has_bias ? in[2] : NULL;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * p->depth;
        const float mean = nnacl_sum_f32(x, p->depth) / (float)p->depth;
        const float variance = nnacl_sum_squares_f32(x, p->depth, mean) / (float)p->depth;
        const float factor = 1.0f / sqrtf(variance + p->epsilon);
        apply(p, x, mean, factor, scale, bias, (float *)out[0] + (ptrdiff_t)row * p->depth);
        if (p->with_statistics) {
            ((float *)out[1])[row] = mean;
            ((float *)out[2])[row] = factor;
        }
    }
}

NNACL_DECLARE(nnacl_rms_norm_f32_c);
void nnacl_rms_norm_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_norm_params *p = params;
    const float *scale = p->has_scale ? in[1] : NULL;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * p->depth;
        const float power = nnacl_sum_squares_f32(x, p->depth, 0.0f) / (float)p->depth;
        const float factor = 1.0f / sqrtf(power + p->epsilon);
        apply(p, x, 0.0f, factor, scale, NULL, (float *)out[0] + (ptrdiff_t)row * p->depth);
    }
}
