/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_ordered. A file for an instruction set names its own sums before it includes this. */
#ifndef NNACL_CONV2D_ORDERED_RUN_H
#define NNACL_CONV2D_ORDERED_RUN_H

#include <string.h>

#include "common/share.h"
#include "ordered/ordered_patch.h"
#include "ordered/ordered_sums.h"

#ifndef NNACL_ORDERED_SUMS
#define NNACL_ORDERED_SUMS nnacl_ordered_sums
#endif

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
            memset(pixel, 0, (size_t)p->out_c * sizeof *pixel);
            for (int32_t group = 0; group < p->groups; group++) {
                nnacl_ordered_patch(p, image, row % p->out_h, column, group * depth, patch);
                for (int32_t oc = 0; oc < group_size; oc += NNACL_ORDERED_LANES) {
                    const int32_t channel = group * group_size + oc;
                    const int32_t left = group_size - oc;
                    const int32_t lanes = left < NNACL_ORDERED_LANES ? left : NNACL_ORDERED_LANES;
                    NNACL_ORDERED_SUMS(&how, patch, weights + channel, lanes, p->by_position ? position : oc,
                                       p->by_position ? 0 : 1, pixel + channel);
                }
            }
            for (int32_t channel = 0; channel < p->out_c && bias; channel++) {
                pixel[channel] += bias[channel];
            }
        }
    }
}

#endif
