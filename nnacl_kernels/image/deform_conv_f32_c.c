/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/image.h"
#include "image/sample_place.h"

NNACL_DECLARE(nnacl_deform_conv_f32_c);

/* The elements around a place, zero outside of x. */
static nnacl_corners corners_at(const nnacl_deform_conv_params *p, float y, float x) {
    nnacl_corners corners;
    y = nnacl_bounded_place(y);
    x = nnacl_bounded_place(x);
    const float top = floorf(y), left = floorf(x), down = y - top, across = x - left;
    for (int32_t i = 0; i < 4; i++) {
        const int32_t row = (int32_t)top + i / 2, column = (int32_t)left + i % 2;
        const bool inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
        corners.index[i] = inside ? row * p->in_w + column : -1;
        corners.weight[i] = (i / 2 ? down : 1.0f - down) * (i % 2 ? across : 1.0f - across);
    }
    return corners;
}

/* Adds what the channels of one offset group contribute to a position through one tap. */
static void add_group(const nnacl_deform_conv_params *p, const nnacl_corners *corners, const float *image,
                      const float *weights, float factor, int32_t group, float *restrict pixel) {
    const int32_t depth = p->in_c / p->groups, width = p->out_c / p->groups;
    const int32_t channels = p->in_c / p->offset_groups;
    for (int32_t ic = group * channels; ic < (group + 1) * channels; ic++) {
        float value = 0.0f;
        for (int32_t i = 0; i < 4; i++) {
            if (corners->index[i] >= 0) {
                value += corners->weight[i] * image[(ptrdiff_t)corners->index[i] * p->in_c + ic];
            }
        }
        value *= factor;
        const float *w = weights + (ptrdiff_t)(ic % depth) * p->out_c + ic / depth * width;
        float *sums = pixel + ic / depth * width;
        for (int32_t oc = 0; oc < width; oc++) {
            sums[oc] += value * w[oc];
        }
    }
}

void nnacl_deform_conv_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_deform_conv_params *p = params;
    const float *bias = p->has_bias ? in[3] : NULL, *mask = p->has_mask ? in[4] : NULL;
    const int32_t taps = p->kernel_h * p->kernel_w;
    const ptrdiff_t tap_size = (ptrdiff_t)(p->in_c / p->groups) * p->out_c;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = (const float *)in[0] + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        for (int32_t column = 0; column < p->out_w; column++) {
            const ptrdiff_t position = (ptrdiff_t)row * p->out_w + column;
            float *pixel = (float *)out[0] + position * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = bias ? bias[oc] : 0.0f;
            }
            for (int32_t i = 0; i < p->offset_groups * taps; i++) {
                const int32_t group = i / taps, tap = i % taps;
                const ptrdiff_t at = position * p->offset_groups * taps + i;
                const float *offset = (const float *)in[2] + at * 2;
                const int32_t y = row % p->out_h * p->stride_h - p->pad_top + tap / p->kernel_w * p->dilation_h;
                const int32_t x = column * p->stride_w - p->pad_left + tap % p->kernel_w * p->dilation_w;
                const nnacl_corners corners = corners_at(p, (float)y + offset[0], (float)x + offset[1]);
                add_group(p, &corners, image, (const float *)in[1] + tap * tap_size, mask ? mask[at] : 1.0f, group,
                          pixel);
            }
        }
    }
}
