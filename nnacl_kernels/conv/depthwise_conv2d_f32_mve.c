/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/multiply_f32_mve.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f32_mve);

void nnacl_depthwise_conv2d_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const float *x = in[0], *weights = in[1];
    float *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide =
                nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
            const int32_t taps = wide.end - wide.begin, first_x = wide.origin + wide.begin * p->dilation_w;
            nnacl_taps_mve t = {
                .x = image + ((ptrdiff_t)first_y * p->in_w + first_x) * p->in_c,
                .weights = weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->out_c,
                .taps = taps,
                .rows = taps > 0 ? tall.end - tall.begin : 0,
                .tap_step = p->dilation_w * p->in_c * 4,
                .row_step = (p->dilation_h * p->in_w - taps * p->dilation_w) * p->in_c * 4,
                .weights_tap = p->out_c * 4,
                .weights_row = (p->kernel_w - taps) * p->out_c * 4,
                .bias = p->has_bias ? in[2] : NULL,
                .y = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c,
                .channels = p->out_c,
                .is_clamped = p->clamp_min > -INFINITY || p->clamp_max < INFINITY,
                .clamp_min = p->clamp_min,
                .clamp_max = p->clamp_max,
            };
            nnacl_taps_f32_mve(&t);
        }
    }
}
