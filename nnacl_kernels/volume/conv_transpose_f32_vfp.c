/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_f32_vfp.h"
#include "common/vectors_f32_vfp.h"
#include "volume/conv_transpose_run.h"

NNACL_DECLARE(nnacl_conv_transpose_f32_vfp);

/* With one group: a row of weights for each input channel, or a dot product where there is one output channel. */
static void add_products(float *y, const float *x, const float *weights, const nnacl_conv_nd_params *p) {
    if (p->out_c == 1) {
        y[0] += nnacl_dot_f32_vfp(x, weights, p->in_c);
        return;
    }
    for (int32_t ic = 0; ic < p->in_c; ic++, weights += p->out_c) {
        nnacl_add_scaled_vfp(weights, &x[ic], y, p->out_c);
    }
}

void nnacl_conv_transpose_f32_vfp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_conv_transpose(ctx, params, in, out, add_products);
}
