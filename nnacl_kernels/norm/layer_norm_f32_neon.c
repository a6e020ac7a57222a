/* SPDX-License-Identifier: Apache-2.0 */
/* As layer_norm_f32_c.c, eight neighbours at once: the same partial sums, the same bits. */
#include <math.h>

#include "common/share.h"
#include "common/vector_f32_neon.h"
#include "norm/norm.h"

/* The sum of x. */
NNACL_ALWAYS_INLINE float sum_of(const float *x, int32_t depth) {
    vector lanes = spread(0.0f);
    int32_t i = 0;
    for (; i + LANES <= depth; i += LANES) {
        lanes = add(lanes, load_all(x + i));
    }
    return sum_of_lanes(add(lanes, load(x + i, lanes_of(depth - i))));
}

NNACL_ALWAYS_INLINE vector plus_square(vector sum, vector d) {
    return add(sum, mul(d, d));
}

/* The sum of (x - centre)^2. */
NNACL_ALWAYS_INLINE float sum_of_squares(const float *x, int32_t depth, float centre) {
    vector lanes = spread(0.0f);
    const vector middle = spread(centre);
    int32_t i = 0;
    for (; i + LANES <= depth; i += LANES) {
        lanes = plus_square(lanes, sub(load_all(x + i), middle));
    }
    /* what is not loaded counts as the centre */
    return sum_of_lanes(plus_square(lanes, sub(load_or(x + i, lanes_of(depth - i), middle), middle)));
}

/* y = (x - mean) * factor, then scale and bias where there are any. */
NNACL_ALWAYS_INLINE void apply(const float *x, int32_t depth, float mean, float factor, const float *scale,
                               const float *bias, float *y, const bool scales, const bool biased) {
    const vector middle = spread(mean), by = spread(factor);
    int32_t i = 0;
    for (; i + LANES <= depth; i += LANES) {
        vector v = mul(sub(load_all(x + i), middle), by);
        v = scales ? mul(v, load_all(scale + i)) : v;
        store_all(y + i, biased ? add(v, load_all(bias + i)) : v);
    }
    if (i < depth) {
        const vector_lanes lanes = lanes_of(depth - i);
        vector v = mul(sub(load(x + i, lanes), middle), by);
        v = scales ? mul(v, load(scale + i, lanes)) : v;
        store(y + i, lanes, biased ? add(v, load(bias + i, lanes)) : v);
    }
}

NNACL_DECLARE(nnacl_layer_norm_f32_neon);
void nnacl_layer_norm_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_norm_params *p = params;
    const float *scale = p->has_scale ? in[1] : NULL, *bias = p->has_bias ? in[2] : NULL;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)row * p->depth;
        const float mean = sum_of(x, p->depth) / (float)p->depth;
        const float variance = sum_of_squares(x, p->depth, mean) / (float)p->depth;
        const float factor = 1.0f / sqrtf(variance + p->epsilon);
        if (scale && bias) {
            apply(x, p->depth, mean, factor, scale, bias, y, true, true);
        } else {
            apply(x, p->depth, mean, factor, scale, bias, y, scale != NULL, bias != NULL);
        }
        if (p->with_statistics) {
            ((float *)out[1])[row] = mean;
            ((float *)out[2])[row] = factor;
        }
    }
}

NNACL_DECLARE(nnacl_rms_norm_f32_neon);
void nnacl_rms_norm_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_norm_params *p = params;
    const float *scale = p->has_scale ? in[1] : NULL;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * p->depth;
        const float power = sum_of_squares(x, p->depth, 0.0f) / (float)p->depth;
        const float factor = 1.0f / sqrtf(power + p->epsilon);
        apply(x, p->depth, 0.0f, factor, scale, NULL, (float *)out[0] + (ptrdiff_t)row * p->depth, scale != NULL,
              false);
    }
}
