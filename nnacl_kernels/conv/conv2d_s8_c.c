/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8.h"
#include "common/requant.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_s8_c);

void nnacl_conv2d_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int8_t *x = in[0], *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int8_t *y = out[0];
    const int32_t depth = p->in_c / p->groups;
    const int32_t group_size = p->out_c / p->groups;
    /* Neighbours in a kernel row are neighbours in memory, in the input as in the weights: one run instead of many. */
    const bool contiguous = p->dilation_w == 1 && p->groups == 1;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const int32_t run = contiguous ? (wide.end - wide.begin) * depth : depth;
            const int32_t first_x = wide.origin + wide.begin * p->dilation_w;
            int8_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                const int32_t w_zero = w_zeros ? w_zeros[oc] : p->w_zero;
                uint32_t sum = bias ? (uint32_t)bias[oc] : 0;
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + first_x) * p->in_c + oc / group_size * depth;
                    const int8_t *w = weights + (((ptrdiff_t)oc * p->kernel_h + ky) * p->kernel_w + wide.begin) * depth;
                    for (int32_t kx = wide.begin; kx < wide.end; kx = contiguous ? wide.end : kx + 1) {
                        sum = nnacl_dot_s8(sum, a, w, run, p->x_zero, w_zero);
                        a += (ptrdiff_t)p->dilation_w * p->in_c;
                        w += depth;
                    }
                }
                pixel[oc] = (int8_t)nnacl_requant_channel((int32_t)sum, requant, p->out_c, oc, p->rounding, p->y_zero,
                                                          p->q_min, p->q_max);
            }
        }
    }
}
