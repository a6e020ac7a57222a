/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "common/window.h"
#include "ordered/ordered.h"

NNACL_DECLARE(nnacl_avg_pool2d_ordered_f32_c);

static float sum_of_column(const nnacl_avg_pool2d_ordered_params *p, const float *x, const nnacl_window *tall) {
    const ptrdiff_t next = (ptrdiff_t)p->in_w * p->channels;
    float sum = x[(tall->origin + tall->begin) * next];
    for (int32_t ky = tall->begin + 1; ky < tall->end; ky++) {
        sum += x[(tall->origin + ky) * next];
    }
    return sum;
}

static float sum_of_window(const nnacl_avg_pool2d_ordered_params *p, const float *x, const nnacl_window *tall,
                           const nnacl_window *wide) {
    float sum = 0.0f;
    if (p->by_columns) {
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            sum += sum_of_column(p, x + (ptrdiff_t)(wide->origin + kx) * p->channels, tall);
        }
        return sum;
    }
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        for (int32_t kx = wide->begin; kx < wide->end; kx++) {
            sum += x[((ptrdiff_t)(tall->origin + ky) * p->in_w + wide->origin + kx) * p->channels];
        }
    }
    return sum;
}

void nnacl_avg_pool2d_ordered_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_avg_pool2d_ordered_params *p = params;
    const float *x = in[0];
    float *y = out[0];
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, 1, p->kernel_h, p->in_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, 1, p->kernel_w, p->in_w);
            const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);
            const float count = (float)(p->count_include_pad ? p->kernel_h * p->kernel_w : inside);
            float *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = sum_of_window(p, image + c, &tall, &wide) / count;
            }
        }
    }
}
