/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/long_sum.h"
#include "common/share.h"
#include "pool/pool_window.h"

NNACL_DECLARE(nnacl_avg_pool2d_f32_c);

#define CHANNELS 16 /* whose sums are formed together */
#define PIXELS 32   /* of a line, whose sum is formed on its own before it joins the total */

/* The sums of a window over `count` <= CHANNELS neighbours; x is the first of them in the image. */
static inline void window_sums(const nnacl_pool2d_params *p, const float *x, const nnacl_window *tall,
                               const nnacl_window *wide, const int32_t count, nnacl_long_sum *sums) {
    for (int32_t c = 0; c < count; c++) {
        sums[c] = (nnacl_long_sum){0.0f, 0.0f};
    }
    for (int32_t ky = tall->begin; ky < tall->end; ky++) {
        const float *line = x + (ptrdiff_t)(tall->origin + ky * p->dilation_h) * p->in_w * p->channels;
        for (int32_t first = wide->begin; first < wide->end; first += PIXELS) {
            const int32_t end = wide->end - first < PIXELS ? wide->end : first + PIXELS;
            float part[CHANNELS] = {0.0f};
            for (int32_t kx = first; kx < end; kx++) {
                const float *restrict a = line + (ptrdiff_t)(wide->origin + kx * p->dilation_w) * p->channels;
                for (int32_t c = 0; c < count; c++) {
                    part[c] += a[c];
                }
            }
            for (int32_t c = 0; c < count; c++) {
                nnacl_long_sum_add(&sums[c], part[c]);
            }
        }
    }
}

void nnacl_avg_pool2d_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const float *x = in[0];
    float *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->channels;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            float *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->channels;
            const int32_t inside = (tall.end - tall.begin) * (wide.end - wide.begin);
            const int32_t divisor = nnacl_pool_divisor(p, row % p->out_h, column, inside);
            for (int32_t first = 0; first < p->channels; first += CHANNELS) {
                const int32_t left = p->channels - first;
                nnacl_long_sum sums[CHANNELS];
                if (left >= CHANNELS) {
                    window_sums(p, image + first, &tall, &wide, CHANNELS, sums);
                } else {
                    window_sums(p, image + first, &tall, &wide, left, sums);
                }
                for (int32_t c = 0; c < CHANNELS && c < left; c++) {
                    const float mean = divisor > 0 ? nnacl_long_sum_value(&sums[c]) / (float)divisor : 0.0f;
                    pixel[first + c] = nnacl_clamp_f32(mean, p->clamp_min, p->clamp_max);
                }
            }
        }
    }
}
