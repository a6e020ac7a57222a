/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/share.h"
#include "common/vector_f16_mve.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_max_pool2d_f16_mve);

/* The windows of one position over up to 8 channels; x is the first of them in the image. */
NNACL_F16_INLINE float16x8_t max_of(const nnacl_pool2d_params *p, const float16_t *x, const nnacl_window *tall,
                                    const nnacl_window *wide, mve_pred16_t wanted) {
    float16x8_t most = vdupq_n_f16(-(float16_t)INFINITY);
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const float16_t *line = x + (ptrdiff_t)(tall->origin + ky * p->dilation_h) * p->in_w * p->channels;
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            const ptrdiff_t at = (ptrdiff_t)(wide->origin + kx * p->dilation_w) * p->channels;
            most = vmaxnmq_f16(most, vldrhq_z_f16(line + at, wanted));
        }
    }
    return most;
}

void nnacl_max_pool2d_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const float16x8_t low = vdupq_n_f16((float16_t)p->clamp_min), high = vdupq_n_f16((float16_t)p->clamp_max);
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float16_t *x = (const float16_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            float16_t *y = (float16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            for (int32_t c = 0; c < p->channels; c += 8) {
                const mve_pred16_t wanted = vctp16q((uint32_t)(p->channels - c));
                const float16x8_t value = max_of(p, x + c, &tall, &wide, wanted);
                vstrhq_p_f16(y + c, nnacl_clamp_f16_mve(value, low, high), wanted);
            }
        }
    }
}
