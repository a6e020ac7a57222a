/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of conv_transpose of f32 that compute position by position: all but the products. */
#ifndef NNACL_CONV_TRANSPOSE_RUN_H
#define NNACL_CONV_TRANSPOSE_RUN_H

#include "common/clamp.h"
#include "common/share.h"
#include "volume/volume_walk.h"

/* Adds the products of one input position and one kernel position to all output channels. */
typedef void (*nnacl_transposed_products)(float *y, const float *x, const float *weights,
                                          const nnacl_conv_nd_params *p);

/* All that meets in one output position. */
static inline void nnacl_transposed_position(nnacl_transposed_products add_products, float *pixel, const float *x,
                                             const float *weights, nnacl_volume_row at, int32_t column,
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

static inline void nnacl_run_conv_transpose(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[], nnacl_transposed_products add_products) {
    const nnacl_conv_nd_params *p = params;
    const float *bias = p->has_bias ? in[2] : NULL;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            float *pixel = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = bias ? bias[oc] : 0.0f;
            }
            nnacl_transposed_position(add_products, pixel, in[0], in[1], nnacl_volume_row_at(p, row), column, p);
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = nnacl_clamp_f32(pixel[oc], p->clamp_min, p->clamp_max);
            }
        }
    }
}

#endif
