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
    const ptrdiff_t channel_step = (ptrdiff_t)p->kernel_h * p->kernel_w * depth;
    const bool is_centred = p->w_zero == 0 && !w_zeros;
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
            for (int32_t oc = 0, left = 0, group = -1, count; oc < p->out_c; oc += count, left -= count) {
                if (left == 0) {
                    left = group_size;
                    group++;
                }
                count = is_centred && left >= NNACL_DOT_CHANNELS ? NNACL_DOT_CHANNELS : 1;
                const int32_t w_zero = w_zeros ? w_zeros[oc] : p->w_zero;
                uint32_t sums[NNACL_DOT_CHANNELS];
                for (int32_t i = 0; i < count; i++) {
                    sums[i] = bias ? (uint32_t)bias[oc + i] : 0;
                }
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + first_x) * p->in_c + group * depth;
                    const int8_t *w = weights + (((ptrdiff_t)oc * p->kernel_h + ky) * p->kernel_w + wide.begin) * depth;
                    for (int32_t kx = wide.begin; kx < wide.end; kx = contiguous ? wide.end : kx + 1) {
                        if (count > 1) {
                            nnacl_dot4_s8(sums, a, w, channel_step, run, p->x_zero);
                        } else {
                            sums[0] = nnacl_dot_s8(sums[0], a, w, run, p->x_zero, w_zero);
                        }
                        a += (ptrdiff_t)p->dilation_w * p->in_c;
                        w += depth;
                    }
                }
                for (int32_t i = 0; i < count; i++) {
                    pixel[oc + i] = (int8_t)nnacl_requant_channel((int32_t)sums[i], requant, p->out_c, oc + i,
                                                                  p->rounding, p->y_zero, p->q_min, p->q_max);
                }
            }
        }
    }
}
