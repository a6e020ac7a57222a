/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d of 16-bit activations with one channel of weights for each of the input. */
#ifndef NNACL_DEPTHWISE_S16_RUN_H
#define NNACL_DEPTHWISE_S16_RUN_H

#include "common/finish_s16_dsp.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

#define NNACL_CHANNELS_S16 8 /* at most, at a time */

/* Adds the products of a window of rows * columns taps over some channels to their sums. */
typedef void (*nnacl_add_taps_s16)(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *w, int32_t rows,
                                   int32_t columns, int32_t *sums);

/* At each place `width` channels at a time, of which there are as many at least; the last ones may come twice. */
static inline void nnacl_depthwise_s16(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                       void *const out[], const int32_t width, nnacl_add_taps_s16 add_taps) {
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
            for (int32_t next = 0; next < p->out_c; next += width) {
                const int32_t last = p->out_c - width, c = next < last ? next : last;
                int32_t sums[NNACL_CHANNELS_S16] = {0};
                add_taps(p, x + c, w + c, tall.end - tall.begin, wide.end - wide.begin, sums);
                for (int32_t i = 0; i < width; i++) {
                    const int64_t sum = nnacl_bias_s16_dsp(&ends, c + i) + sums[i];
                    y[c + i] = nnacl_finish_s16_dsp(&ends, nnacl_factor_s16_dsp(&ends, c + i), sum, c + i);
                }
            }
        }
    }
}

#endif
