/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s16.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s16_c);

#define CHANNELS 4
/* Sums of so many products fit 32 bits. */
#define MOST_TAPS 511

/* One position without zero points, one output channel for each input channel, by fours; returns the channels done. The
 * window begins at x and weights. */
static int32_t run_fours(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *weights, int32_t rows,
                         int32_t columns, const void *const in[], int16_t *y) {
    const ptrdiff_t column_step = (ptrdiff_t)p->dilation_w * p->in_c;
    const ptrdiff_t row_step = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c;
    int32_t c = 0;
    for (; c + CHANNELS <= p->out_c; c += CHANNELS) {
        int32_t sums[CHANNELS] = {0};
        for (int32_t row = 0; row < rows; row++) {
            const int16_t *a = x + c + row * row_step;
            const int8_t *w = weights + c + (ptrdiff_t)row * p->kernel_w * p->out_c;
            for (int32_t column = 0; column < columns; column++) {
                for (int32_t i = 0; i < CHANNELS; i++) {
                    sums[i] += a[i] * w[i];
                }
                a += column_step;
                w += p->out_c;
            }
        }
        for (int32_t i = 0; i < CHANNELS; i++) {
            y[c + i] = nnacl_finish_s16(nnacl_bias_s16(in[2], p->has_bias, c + i) + sums[i], p->has_bias, in[3],
                                        p->out_c, c + i, p->rounding, p->y_zero, p->q_min, p->q_max);
        }
    }
    return c;
}

void nnacl_depthwise_conv2d_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int16_t *x = in[0];
    const int8_t *weights = in[1];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int16_t *y = out[0];
    const int32_t multiplier = p->out_c / p->in_c;
    const bool is_plain =
        multiplier == 1 && p->x_zero == 0 && p->w_zero == 0 && !w_zeros && p->kernel_h * p->kernel_w <= MOST_TAPS;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            int16_t *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            int32_t oc = 0;
            if (is_plain) {
                const int32_t iy = tall.origin + tall.begin * p->dilation_h;
                const int32_t ix = wide.origin + wide.begin * p->dilation_w;
                oc = run_fours(p, image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c,
                               weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c,
                               tall.end - tall.begin, wide.end - wide.begin, in, pixel);
            }
            for (; oc < p->out_c; oc++) {
                const int32_t w_zero = w_zeros ? w_zeros[oc] : p->w_zero;
                int64_t sum = nnacl_bias_s16(in[2], p->has_bias, oc);
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    const int32_t iy = tall.origin + ky * p->dilation_h;
                    const int32_t ix = wide.origin + wide.begin * p->dilation_w;
                    const int16_t *a = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c + oc / multiplier;
                    const int8_t *w = weights + ((ptrdiff_t)ky * p->kernel_w + wide.begin) * p->out_c + oc;
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        sum += nnacl_product_s16(*a - p->x_zero, *w, w_zero);
                        a += (ptrdiff_t)p->dilation_w * p->in_c;
                        w += p->out_c;
                    }
                }
                pixel[oc] =
                    nnacl_finish_s16(sum, p->has_bias, in[3], p->out_c, oc, p->rounding, p->y_zero, p->q_min, p->q_max);
            }
        }
    }
}
