/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/half.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f16_c);

void nnacl_depthwise_conv2d_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const uint16_t *x = in[0], *weights = in[1];
    const float *bias = p->has_bias ? in[2] : NULL;
    uint16_t *y = out[0];
    const int32_t multiplier = p->out_c / p->in_c;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const uint16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            uint16_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                float sum = bias ? bias[oc] : 0.0f;
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    const int32_t ix = wide.origin + wide.begin * p->dilation_w;
                    const uint16_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / multiplier;
                    const uint16_t *w = weights + ((ptrdiff_t)ky * p->kernel_w + wide.begin) * p->out_c + oc;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        sum += nnacl_half_to_float(*a) * nnacl_half_to_float(*w);
                        a += (ptrdiff_t)p->dilation_w * p->in_c;
                        w += p->out_c;
                    }
                }
                pixel[oc] = nnacl_float_to_half(nnacl_clamp_f32(sum, p->clamp_min, p->clamp_max));
            }
        }
    }
}
