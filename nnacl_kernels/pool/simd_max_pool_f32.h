/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of max_pool2d for the vectors of whatever vector_f32_*.h was included before. */
#ifndef NNACL_SIMD_MAX_POOL_F32_H
#define NNACL_SIMD_MAX_POOL_F32_H

#include <math.h>

#include "common/share.h"
#include "pool/pool_window.h"

#define POOL_VECTORS 2 /* of channels that are computed together */

/* `vectors` of channels of one output, or the first `lanes` channels of one. */
NNACL_ALWAYS_INLINE void maximum(const nnacl_pool2d_params *p, const float *image, nnacl_window tall, nnacl_window wide,
                                 const int32_t vectors, const bool whole, int32_t lanes, float *y) {
    const ptrdiff_t step = (ptrdiff_t)p->dilation_w * p->channels;
    vector best[POOL_VECTORS];
#pragma GCC unroll 2
    for (int32_t i = 0; i < vectors; i++) {
        best[i] = spread(-INFINITY);
    }
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + wide.begin * p->dilation_w;
        const float *x = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels;
        for (int32_t kx = wide.begin; kx < wide.end; kx++, x += step) {
#pragma GCC unroll 2
            for (int32_t i = 0; i < vectors; i++) {
                best[i] = larger_number(whole ? load_all(x + i * LANES) : load(x, lanes_of(lanes)), best[i]);
            }
        }
    }
    const vector low = spread(p->clamp_min), high = spread(p->clamp_max);
#pragma GCC unroll 2
    for (int32_t i = 0; i < vectors; i++) {
        store(y + i * LANES, lanes_of(whole ? LANES : lanes), clamp(best[i], low, high));
    }
}

NNACL_ALWAYS_INLINE void max_pool(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = (const float *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            float *y = (float *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            int32_t c = 0;
            for (; c + POOL_VECTORS * LANES <= p->channels; c += POOL_VECTORS * LANES) {
                maximum(p, image + c, tall, wide, POOL_VECTORS, true, LANES, y + c);
            }
            for (; c + LANES <= p->channels; c += LANES) {
                maximum(p, image + c, tall, wide, 1, true, LANES, y + c);
            }
            if (c < p->channels) {
                maximum(p, image + c, tall, wide, 1, false, p->channels - c, y + c);
            }
        }
    }
}

#endif
