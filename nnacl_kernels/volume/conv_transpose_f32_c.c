/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/conv_transpose_run.h"

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

void nnacl_conv_transpose_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_conv_transpose(ctx, params, in, out, add_products);
}
