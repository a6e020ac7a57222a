/* SPDX-License-Identifier: Apache-2.0 */
#include "common/byte_s8.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_integer_c);

void nnacl_conv2d_integer_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const uint8_t *x = in[0], *weights = in[1];
    const int32_t *w_zeros = p->has_w_zeros ? in[3] : NULL;
    int32_t *y = out[0];
    const uint8_t x_flip = nnacl_byte_flip(p->x_type), w_flip = nnacl_byte_flip(p->w_type);
    const uint32_t x_zero = nnacl_byte_zero(p->has_x_zero ? *(const int32_t *)in[2] : p->x_zero, x_flip);
    const int32_t depth = p->in_c / p->groups;
    const int32_t group_size = p->out_c / p->groups;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const uint8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            int32_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                const int32_t own = w_zeros ? w_zeros[p->has_w_zeros == 1 ? 0 : oc] : p->w_zero;
                const uint32_t w_zero = nnacl_byte_zero(own, w_flip);
                uint32_t sum = 0;
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const int32_t ix = wide.origin + kx * p->dilation_w;
                        const uint8_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / group_size * depth;
                        const uint8_t *w = weights + (((ptrdiff_t)oc * p->kernel_h + ky) * p->kernel_w + kx) * depth;
                        for (int32_t i = 0; i < depth; i++) {
                            sum += ((uint32_t)nnacl_byte_at(a, i, x_flip) - x_zero) *
                                   ((uint32_t)nnacl_byte_at(w, i, w_flip) - w_zero);
                        }
                    }
                }
                pixel[oc] = (int32_t)sum;
            }
        }
    }
}
