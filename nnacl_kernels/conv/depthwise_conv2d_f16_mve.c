/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "common/vector_f16_mve.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f16_mve);

/* The part of a window that is inside. Steps are in elements: from a tap to the next, from behind the last one to the
 * next row. */
typedef struct taps {
    const float16_t *x, *weights, *bias;
    float16_t *y;
    int32_t columns, rows;
    int32_t tap_step, row_step, weights_tap, weights_row;
    float16x8_t low, high;
} taps;

/* Up to `vectors` * 8 channels; of a single vector those that are `wanted`. */
NNACL_ALWAYS_INLINE void run(const taps *t, int32_t channel, const int32_t vectors, mve_pred16_t wanted) {
    const float16_t *x = t->x + channel, *w = t->weights + channel;
    float16x8_t sums[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < vectors; i++) {
        sums[i] = vectors == 1 ? vldrhq_z_f16(t->bias + channel, wanted) : vldrhq_f16(t->bias + channel + 8 * i);
    }
    for (int32_t row = 0; row < t->rows; row++, x += t->row_step, w += t->weights_row) {
        for (int32_t tap = 0; tap < t->columns; tap++, x += t->tap_step, w += t->weights_tap) {
#pragma GCC unroll 4
            for (int32_t i = 0; i < vectors; i++) {
                const float16x8_t a = vectors == 1 ? vldrhq_z_f16(x, wanted) : vldrhq_f16(x + 8 * i);
                const float16x8_t b = vectors == 1 ? vldrhq_z_f16(w, wanted) : vldrhq_f16(w + 8 * i);
                sums[i] = vfmaq_f16(sums[i], a, b);
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t i = 0; i < vectors; i++) {
        const float16x8_t y = nnacl_clamp_f16(sums[i], t->low, t->high);
        if (vectors == 1) {
            vstrhq_p_f16(t->y + channel, y, wanted);
        } else {
            vstrhq_f16(t->y + channel + 8 * i, y);
        }
    }
}

/* Packed are the biases, then the weights. */
void nnacl_depthwise_conv2d_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const float16_t *x = in[0], *bias = in[1], *weights = bias + p->out_c;
    taps t = {
        .bias = bias,
        .tap_step = p->dilation_w * p->in_c,
        .weights_tap = p->out_c,
        .low = vdupq_n_f16((float16_t)p->clamp_min),
        .high = vdupq_n_f16((float16_t)p->clamp_max),
    };
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float16_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        t.rows = tall.end - tall.begin;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const int32_t first_x = wide.origin + wide.begin * p->dilation_w;
            t.columns = wide.end - wide.begin;
            t.x = image + ((ptrdiff_t)first_y * p->in_w + first_x) * p->in_c;
            t.weights = weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c;
            t.row_step = (p->dilation_h * p->in_w - t.columns * p->dilation_w) * p->in_c;
            t.weights_row = (p->kernel_w - t.columns) * p->out_c;
            t.y = (float16_t *)out[0] + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            int32_t channel = 0;
            for (; channel + 32 <= p->out_c; channel += 32) {
                run(&t, channel, 4, 0);
            }
            for (; channel < p->out_c; channel += 8) {
                run(&t, channel, 1, vctp16q((uint32_t)(p->out_c - channel)));
            }
        }
    }
}
