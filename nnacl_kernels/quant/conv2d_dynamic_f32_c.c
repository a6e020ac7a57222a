/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/dot_s8.h"
#include "common/share.h"
#include "common/window.h"
#include "quant/quant.h"
#include "quant/quantize_dynamic.h"

NNACL_DECLARE(nnacl_conv2d_dynamic_f32_c);

void nnacl_conv2d_dynamic_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_dynamic_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL, *w_scales = in[3];
    const int8_t *weights = in[1];
    int8_t *image = ctx->workspace;
    float *y = out[0];
    const int32_t depth = p->in_c / p->groups;
    const int32_t group_size = p->out_c / p->groups;
    const int32_t image_size = p->in_h * p->in_w * p->in_c;

    nnacl_dynamic_scale q = {1.0f, 0};
    int32_t batch = -1; /* the entry that is in the workspace */
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        if (row / p->out_h != batch) {
            batch = row / p->out_h;
            q = nnacl_quantize_dynamic(x + (ptrdiff_t)batch * image_size, image, image_size, p->asymmetric != 0);
        }
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            float *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                uint32_t sum = 0;
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const int32_t ix = wide.origin + kx * p->dilation_w;
                        const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / group_size * depth;
                        const int8_t *w = weights + (((ptrdiff_t)oc * p->kernel_h + ky) * p->kernel_w + kx) * depth;
                        sum = nnacl_dot_s8(sum, a, w, depth, q.zero, 0);
                    }
                }
                const float value = (float)(int32_t)sum * (q.scale * w_scales[oc]) + (bias ? bias[oc] : 0.0f);
                pixel[oc] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
            }
        }
    }
}
