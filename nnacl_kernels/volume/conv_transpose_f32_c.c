/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "volume/volume_walk.h"

NNACL_DECLARE(nnacl_conv_transpose_f32_c);

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
    for (int32_t ic = 0; ic < p->in_c; ic++) {
        const float a = x[ic];
        const float *w = weights + (ptrdiff_t)ic * width;
        float *sums = y + ic / depth * width;
        for (int32_t oc = 0; oc < width; oc++) {
            sums[oc] += a * w[oc];
        }
    }
}

/* All that meets in one output position. */
static void compute_position(float *pixel, const float *x, const float *weights, nnacl_volume_row at, int32_t column,
                             const nnacl_conv_nd_params *p) {
    const ptrdiff_t tap_size = (ptrdiff_t)p->in_c * (p->out_c / p->groups);
    for (int32_t kz = 0; kz < p->kernel[0]; kz++) {
        const int32_t z = nnacl_transposed_source(p, 0, at.depth, kz);
        for (int32_t ky = 0; z >= 0 && ky < p->kernel[1]; ky++) {
            const int32_t y = nnacl_transposed_source(p, 1, at.height, ky);
            for (int32_t kx = 0; y >= 0 && kx < p->kernel[2]; kx++) {
                const int32_t from = nnacl_transposed_source(p, 2, column, kx);
                if (from >= 0) {
                    add_products(pixel, x + nnacl_volume_input(p, at.batch, z, y, from),
                                 weights + nnacl_volume_tap(p, kz, ky, kx) * tap_size, p);
                }
            }
        }
    }
}

void nnacl_conv_transpose_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const float *bias = p->has_bias ? in[2] : NULL;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            float *pixel = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = bias ? bias[oc] : 0.0f;
            }
            compute_position(pixel, in[0], in[1], nnacl_volume_row_at(p, row), column, p);
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = nnacl_clamp_f32(pixel[oc], p->clamp_min, p->clamp_max);
            }
        }
    }
}
