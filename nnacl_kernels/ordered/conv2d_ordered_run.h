/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_ordered. A file for an instruction set names its own sums before it includes this. */
#ifndef NNACL_CONV2D_ORDERED_RUN_H
#define NNACL_CONV2D_ORDERED_RUN_H

#include "common/share.h"
#include "ordered/ordered_sums.h"

#ifndef NNACL_ORDERED_SUMS
#define NNACL_ORDERED_SUMS nnacl_ordered_sums
#endif

/* What the windows of one group read, in the order of the weights. */
static inline void nnacl_ordered_patch(const nnacl_conv2d_ordered_params *p, const float *image, int32_t row,
                                       int32_t column, int32_t channel, float *patch) {
    const int32_t depth = p->in_c / p->groups;
    for (int32_t i = 0; i < depth; i++) {
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            const int32_t y = row * p->stride_h - p->pad_top + ky * p->dilation_h;
            for (int32_t kx = 0; kx < p->kernel_w; kx++) {
                const int32_t x = column * p->stride_w - p->pad_left + kx * p->dilation_w;
                const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
                *patch++ = inside ? image[((ptrdiff_t)y * p->in_w + x) * p->in_c + channel + i] : 0.0f;
            }
        }
    }
}

static inline void nnacl_conv2d_ordered_run(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[]) {
    const nnacl_conv2d_ordered_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    float *patch = ctx->workspace;
    const int32_t depth = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const nnacl_ordered_row how = {p->order, p->block, depth * p->kernel_h * p->kernel_w, p->out_c,
                                   p->by_position ? p->out_h * p->out_w : group_size};
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c;
        for (int32_t column = 0; column < p->out_w; column++) {
            const int32_t position = row % p->out_h * p->out_w + column;
            float *pixel = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c;
            for (int32_t group = 0; group < p->groups; group++) {
                nnacl_ordered_patch(p, image, row % p->out_h, column, group * depth, patch);
                for (int32_t oc = 0; oc < group_size; oc += NNACL_ORDERED_LANES) {
                    const int32_t channel = group * group_size + oc;
                    const int32_t left = group_size - oc;
                    const int32_t lanes = left < NNACL_ORDERED_LANES ? left : NNACL_ORDERED_LANES;
                    float sums[NNACL_ORDERED_LANES] = {0};
                    NNACL_ORDERED_SUMS(&how, patch, weights + channel, lanes, p->by_position ? position : oc,
                                       p->by_position ? 0 : 1, sums);
                    for (int32_t lane = 0; lane < lanes; lane++) {
                        pixel[channel + lane] = bias ? sums[lane] + bias[channel + lane] : sums[lane];
                    }
                }
            }
        }
    }
}

#endif
