/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_c);

#define CHANNELS 4

/* One position without zero points of the weights, one output channel for each input channel, by fours; returns the
 * channels done. The window begins at x and weights. */
static int32_t run_fours(const nnacl_conv2d_params *p, const int8_t *x, const int8_t *weights, int32_t rows,
                         int32_t columns, const void *const in[], int8_t *y) {
    const ptrdiff_t column_step = (ptrdiff_t)p->dilation_w * p->in_c;
    const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c;
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    int32_t c = 0;
    for (; c + CHANNELS <= p->out_c; c += CHANNELS) {
        uint32_t sums[CHANNELS];
        for (int32_t i = 0; i < CHANNELS; i++) {
            sums[i] = bias ? (uint32_t)bias[c + i] : 0;
        }
        for (int32_t row = 0; row < rows; row++) {
            const int8_t *a = x + c + row * row_step;
            const int8_t *w = weights + c + (ptrdiff_t)row * p->kernel_w * p->out_c;
            for (int32_t column = 0; column < columns; column++) {
                for (int32_t i = 0; i < CHANNELS; i++) {
                    sums[i] += (uint32_t)((a[i] - p->x_zero) * w[i]);
                }
                a += column_step;
                w += p->out_c;
            }
        }
        for (int32_t i = 0; i < CHANNELS; i++) {
            y[c + i] = (int8_t)nnacl_requant_channel((int32_t)sums[i], in[3], p->out_c, c + i, p->rounding, p->y_zero,
                                                     p->q_min, p->q_max);
        }
    }
    return c;
}

void nnacl_depthwise_conv2d_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int8_t *x = in[0], *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int8_t *y = out[0];
    const int32_t multiplier = p->out_c / p->in_c;
    const bool is_plain = multiplier == 1 && p->w_zero == 0 && !w_zeros;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            int8_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            int32_t oc = 0;
            if (is_plain) {
                const int32_t iy = tall.origin + tall.begin * p->dilation_h;
                const int32_t ix = wide.origin + wide.begin * p->dilation_w;
                oc = run_fours(p, image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c,
                               weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c,
                               tall.end - tall.begin, wide.end - wide.begin, in, pixel);
            }
            for (; oc < p->out_c; oc++) {
                const uint32_t w_zero = (uint32_t)(w_zeros ? w_zeros[oc] : p->w_zero); /* may be any number */
                uint32_t sum = bias ? (uint32_t)bias[oc] : 0;
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    const int32_t ix = wide.origin + wide.begin * p->dilation_w;
                    const int8_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / multiplier;
                    const int8_t *w = weights + ((ptrdiff_t)ky * p->kernel_w + wide.begin) * p->out_c + oc;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        sum += (uint32_t)(*a - p->x_zero) * ((uint32_t)*w - w_zero);
                        a += (ptrdiff_t)p->dilation_w * p->in_c;
                        w += p->out_c;
                    }
                }
                pixel[oc] = (int8_t)nnacl_requant_channel((int32_t)sum, requant, p->out_c, oc, p->rounding, p->y_zero,
                                                          p->q_min, p->q_max);
            }
        }
    }
}
