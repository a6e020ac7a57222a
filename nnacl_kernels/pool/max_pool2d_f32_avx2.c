/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/share.h"
#include "common/vector_f32_avx2.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_f32_avx2);

/* LANES channels of one output. */
static inline void maximum(const nnacl_pool2d_params *p, const float *image, nnacl_window tall, nnacl_window wide,
                           vector_lanes lanes, float *y) {
    vector best = spread(-INFINITY);
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;
            best = larger(load(image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels, lanes), best);
        }
    }
    store(y, lanes, clamp(best, spread(p->clamp_min), spread(p->clamp_max)));
}

void nnacl_max_pool2d_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = (const float *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            float *y = (float *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            int32_t c = 0;
            for (; c + LANES <= p->channels; c += LANES) {
                maximum(p, image + c, tall, wide, lanes_of(LANES), y + c);
            }
            if (c < p->channels) {
                maximum(p, image + c, tall, wide, lanes_of(p->channels - c), y + c);
            }
        }
    }
}
