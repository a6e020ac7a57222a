/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s16.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_s16_c);

void nnacl_conv2d_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int16_t *x = in[0];
    const int8_t *weights = in[1];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int16_t *y = out[0];
    const int32_t depth = p->in_c / p->groups;
    const int32_t group_size = p->out_c / p->groups;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            int16_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                const int32_t w_zero = w_zeros ? w_zeros[oc] : p->w_zero;
                int64_t sum = nnacl_bias_s16(in[2], p->has_bias, oc);
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const int32_t ix = wide.origin + kx * p->dilation_w;
                        const int16_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / group_size * depth;
                        const int8_t *w = weights + (((ptrdiff_t)oc * p->kernel_h + ky) * p->kernel_w + kx) * depth;
                        sum = nnacl_dot_s16(sum, a, w, depth, p->x_zero, w_zero);
                    }
                }
                pixel[oc] =
                    nnacl_finish_s16(sum, p->has_bias, in[3], p->out_c, oc, p->rounding, p->y_zero, p->q_min, p->q_max);
            }
        }
    }
}
