/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "common/window.h"
#include "volume/volume_walk.h"

NNACL_DECLARE(nnacl_conv3d_f32_c);

/* Adds the products of one input position and one kernel position to all output channels. */
static void add_products(float *restrict y, const float *restrict x, const float *restrict weights,
                         const nnacl_conv_nd_params *p) {
    const int32_t depth = p->in_c / p->groups, width = p->out_c / p->groups;
    if (depth == 1 && width == 1) {
        for (int32_t c = 0; c < p->in_c; c++) {
            y[c] += x[c] * weights[c];
        }
        return;
    }
    for (int32_t group = 0; group < p->groups; group++) {
        for (int32_t i = 0; i < depth; i++) {
            const float a = x[group * depth + i];
            const float *w = weights + (ptrdiff_t)i * p->out_c + group * width;
            float *sums = y + group * width;
            for (int32_t oc = 0; oc < width; oc++) {
                sums[oc] += a * w[oc];
            }
        }
    }
}

static nnacl_window window_along(const nnacl_conv_nd_params *p, int32_t i, int32_t position) {
    return nnacl_window_at(position, p->stride[i], p->pad_before[i], p->dilation[i], p->kernel[i], p->in_size[i]);
}

void nnacl_conv3d_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    const ptrdiff_t tap_size = (ptrdiff_t)(p->in_c / p->groups) * p->out_c;

    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const nnacl_volume_row at = nnacl_volume_row_at(p, row);
        const nnacl_window deep = window_along(p, 0, at.depth), tall = window_along(p, 1, at.height);
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            const nnacl_window wide = window_along(p, 2, column);
            float *pixel = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = bias ? bias[oc] : 0.0f;
            }
            for (int32_t kz = deep.begin; kz < deep.end; kz++) {
                for (int32_t ky = tall.begin; ky < tall.end; ky++) {
                    for (int32_t kx = wide.begin; kx < wide.end; kx++) {
                        const ptrdiff_t from =
                            nnacl_volume_input(p, at.batch, deep.origin + kz * p->dilation[0],
                                               tall.origin + ky * p->dilation[1], wide.origin + kx * p->dilation[2]);
                        add_products(pixel, x + from, weights + nnacl_volume_tap(p, kz, ky, kx) * tap_size, p);
                    }
                }
            }
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = nnacl_clamp_f32(pixel[oc], p->clamp_min, p->clamp_max);
            }
        }
    }
}
