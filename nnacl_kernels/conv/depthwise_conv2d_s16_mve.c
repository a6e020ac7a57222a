/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"
#include "common/multiply_s16_mve.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s16_mve);

#define CHANNELS 8

/* Adds the products of a window of rows * columns taps over eight channels. */
static void add_taps(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *w, int32_t rows, int32_t columns,
                     int32_t *sums) {
    const ptrdiff_t x_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, w_row = (ptrdiff_t)p->kernel_w * p->out_c;
    for (int32_t row = 0; row < rows && columns > 0; row++, x += x_row, w += w_row) {
        nnacl_taps8_s16_mve(x, p->dilation_w * p->in_c * 2, w, p->out_c, columns, sums);
    }
}

void nnacl_depthwise_conv2d_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_ends_s16 ends = {in[2], in[3], p->has_bias, p->out_c, p->rounding, p->y_zero, p->q_min, p->q_max};
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int16_t *image = (const int16_t *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const int32_t iy = tall.origin + tall.begin * p->dilation_h, ix = wide.origin + wide.begin * p->dilation_w;
            const int16_t *x = image + ((ptrdiff_t)iy * p->in_w + ix) * p->in_c;
            const int8_t *w = (const int8_t *)in[1] + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c;
            int16_t *y = (int16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t next = 0; next < p->out_c; next += CHANNELS) {
                const int32_t last = p->out_c - CHANNELS, c = next < last ? next : last;
                int32_t sums[CHANNELS] = {0};
                add_taps(p, x + c, w + c, tall.end - tall.begin, wide.end - wide.begin, sums);
                for (int32_t i = 0; i < CHANNELS; i++) {
                    const int64_t sum = nnacl_bias_s16_dsp(&ends, c + i) + sums[i];
                    y[c + i] = nnacl_finish_s16_dsp(&ends, nnacl_factor_s16_dsp(&ends, c + i), sum, c + i);
                }
            }
        }
    }
}
