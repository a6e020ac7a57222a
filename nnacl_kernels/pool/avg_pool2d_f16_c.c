/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/half.h"
#include "common/long_sum.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_avg_pool2d_f16_c);

void nnacl_avg_pool2d_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const uint16_t *x = in[0];
    uint16_t *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const uint16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            uint16_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);
            const int32_t divisor = nnacl_pool_divisor(p, row % p->out_h, column, inside);
            for (int32_t c = 0; c < p->channels; c++) {
                nnacl_long_sum sum = {0.0f, 0.0f};
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const int32_t ix = wide.origin + kx * p->dilation_w;
                        const ptrdiff_t at = ((ptrdiff_t)iy * p->in_w + ix) * p->channels + c;
                        nnacl_long_sum_add(&sum, nnacl_half_to_float(image[at]));
                    }
                }
                const float mean = divisor > 0 ? nnacl_long_sum_value(&sum) / (float)divisor : 0.0f;
                pixel[c] = nnacl_float_to_half(nnacl_clamp_f32(mean, p->clamp_min, p->clamp_max));
            }
        }
    }
}
