/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "volume/volume_walk.h"

NNACL_DECLARE(nnacl_conv_transpose_s8_c);

/* Adds the products of one input position and one kernel position to all output channels. Sums wrap. */
static void add_products(int32_t *restrict sums, const int8_t *restrict x, const int8_t *restrict weights,
                         const nnacl_conv_nd_params *p) {
    for (int32_t ic = 0; ic < p->in_c; ic++) {
        const int32_t a = x[ic] - p->x_zero;
        const int8_t *w = weights + (ptrdiff_t)ic * p->out_c;
        for (int32_t oc = 0; oc < p->out_c; oc++) {
            sums[oc] = (int32_t)((uint32_t)sums[oc] + (uint32_t)(a * (w[oc] - p->w_zero)));
        }
    }
}

/* All that meets in one output position. */
static void compute_position(int32_t *sums, const int8_t *x, const int8_t *weights, nnacl_volume_row at, int32_t column,
                             const nnacl_conv_nd_params *p) {
    const ptrdiff_t tap_size = (ptrdiff_t)p->in_c * p->out_c;
    for (int32_t kz = 0; kz < p->kernel[0]; kz++) {
        const int32_t z = nnacl_transposed_source(p, 0, at.depth, kz);
        for (int32_t ky = 0; z >= 0 && ky < p->kernel[1]; ky++) {
            const int32_t y = nnacl_transposed_source(p, 1, at.height, ky);
            for (int32_t kx = 0; y >= 0 && kx < p->kernel[2]; kx++) {
                const int32_t from = nnacl_transposed_source(p, 2, column, kx);
                if (from >= 0) {
                    add_products(sums, x + nnacl_volume_input(p, at.batch, z, y, from),
                                 weights + nnacl_volume_tap(p, kz, ky, kx) * tap_size, p);
                }
            }
        }
    }
}

void nnacl_conv_transpose_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    int32_t *sums = ctx->workspace;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            int8_t *pixel = (int8_t *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                sums[oc] = bias ? bias[oc] : 0;
            }
            compute_position(sums, in[0], in[1], nnacl_volume_row_at(p, row), column, p);
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = (int8_t)nnacl_requant_channel(sums[oc], in[3], p->out_c, oc, p->rounding, p->y_zero,
                                                          p->q_min, p->q_max);
            }
        }
    }
}
