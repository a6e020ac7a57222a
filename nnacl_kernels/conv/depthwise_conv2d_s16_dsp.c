/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>
#include <string.h>

#include "common/finish_s16_dsp.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s16_dsp);

#define CHANNELS 4

static uint32_t load(const void *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Adds the products of a window of rows * columns taps over four channels. */
static void add_taps(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *w, int32_t rows, int32_t columns,
                     int32_t *sums) {
    const ptrdiff_t x_step = (ptrdiff_t)p->dilation_w * p->in_c, w_step = p->out_c;
    const ptrdiff_t x_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, w_row = (ptrdiff_t)p->kernel_w * p->out_c;
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (int32_t row = 0; row < rows; row++, x += x_row, w += w_row) {
        const int16_t *tap = x;
        const int8_t *weights = w;
        for (int32_t column = 0; column < columns; column++, tap += x_step, weights += w_step) {
            const uint32_t first = load(tap), second = load(tap + 2), word = load(weights);
            const int32_t even = __sxtb16((int8x4_t)word), odd = __sxtb16((int8x4_t)(word >> 8 | word << 24));
            a = __smlabb((int32_t)first, even, a);
            b = __smlatb((int32_t)first, odd, b);
            c = __smlabt((int32_t)second, even, c);
            d = __smlatt((int32_t)second, odd, d);
        }
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

void nnacl_depthwise_conv2d_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
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
