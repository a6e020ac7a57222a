/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d and avg_pool2d of halves, eight channels at a time, for the vectors of whatever vector_f16_*.h was
 * included before. */
#ifndef NNACL_SIMD_POOL_F16_H
#define NNACL_SIMD_POOL_F16_H

#include <math.h>

#include "common/share.h"
#include "pool/pool_window.h"

/* One window: its part inside of the image, and what its sum is divided by. */
typedef struct pool_f16_window {
    const nnacl_pool2d_params *p;
    nnacl_window tall, wide;
    int32_t divisor;
} pool_f16_window;

typedef float16x8_t (*pool_f16_value)(const pool_f16_window *w, const float16_t *x, nnacl_lanes_f16 lanes);

/* Of up to 8 channels; x is the first of them in the image. */
NNACL_ALWAYS_INLINE float16x8_t max_f16_of(const pool_f16_window *w, const float16_t *x, nnacl_lanes_f16 lanes) {
    const nnacl_pool2d_params *p = w->p;
    float16x8_t most = vdupq_n_f16(-(float16_t)INFINITY);
    for (int32_t ky = w->tall.begin; ky < w->tall.end; ky++) {
        const float16_t *line = x + (ptrdiff_t)(w->tall.origin + ky * p->dilation_h) * p->in_w * p->channels;
        for (int32_t kx = w->wide.begin; kx < w->wide.end; kx++) {
            const ptrdiff_t at = (ptrdiff_t)(w->wide.origin + kx * p->dilation_w) * p->channels;
            most = vmaxnmq_f16(most, nnacl_load_f16(line + at, lanes));
        }
    }
    return most;
}

NNACL_ALWAYS_INLINE float16x8_t avg_f16_of(const pool_f16_window *w, const float16_t *x, nnacl_lanes_f16 lanes) {
    const nnacl_pool2d_params *p = w->p;
    nnacl_wide_f16 sum = nnacl_zeros_f16();
    for (int32_t ky = w->tall.begin; ky < w->tall.end; ky++) {
        const float16_t *line = x + (ptrdiff_t)(w->tall.origin + ky * p->dilation_h) * p->in_w * p->channels;
        for (int32_t kx = w->wide.begin; kx < w->wide.end; kx++) {
            const ptrdiff_t at = (ptrdiff_t)(w->wide.origin + kx * p->dilation_w) * p->channels;
            sum = nnacl_join_f16(sum, nnacl_load_f16(line + at, lanes));
        }
    }
    return w->divisor > 0 ? nnacl_quotient_f16(sum, (float)w->divisor) : vdupq_n_f16(0);
}

NNACL_ALWAYS_INLINE void pool_f16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                                  const bool divides, const pool_f16_value value_of) {
    const nnacl_pool2d_params *p = params;
    const float16x8_t low = vdupq_n_f16((float16_t)p->clamp_min), high = vdupq_n_f16((float16_t)p->clamp_max);
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float16_t *x = (const float16_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        pool_f16_window w = {.p = p, .tall = nnacl_pool_rows(p, row % p->out_h)};
        for (int32_t column = 0; column < p->out_w; column++) {
            w.wide = nnacl_pool_columns(p, column);
            if (divides) {
                const int32_t inside = (w.tall.end - w.tall.begin) * (w.wide.end - w.wide.begin);
                w.divisor = nnacl_pool_divisor(p, row % p->out_h, column, inside);
            }
            float16_t *y = (float16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            for (int32_t c = 0; c < p->channels; c += 8) {
                const nnacl_lanes_f16 lanes = nnacl_lanes_of_f16(p->channels - c);
                const float16x8_t value =
                    nnacl_is_whole_f16(lanes) ? value_of(&w, x + c, NNACL_WHOLE_F16) : value_of(&w, x + c, lanes);
                nnacl_store_f16(y + c, nnacl_clamp_f16(value, low, high), lanes);
            }
        }
    }
}

#endif
