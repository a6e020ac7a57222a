/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_avg_pool2d_f32_c);

void nnacl_avg_pool2d_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const float *x = in[0];
    float *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            float *restrict pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);
            const int32_t divisor = nnacl_pool_divisor(p, row % p->out_h, column, inside);
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = 0.0f;
            }
            for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h, ix = wide.origin + kx * p->dilation_w;
                    const float *restrict a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->channels;
                    for (int32_t c = 0; c < p->channels; c++) {
                        pixel[c] += a[c];
                    }
                }
            }
            for (int32_t c = 0; c < p->channels; c++) {
                const float mean = divisor > 0 ? pixel[c] / (float)divisor : 0.0f;
                pixel[c] = nnacl_clamp_f32(mean, p->clamp_min, p->clamp_max);
            }
        }
    }
}
