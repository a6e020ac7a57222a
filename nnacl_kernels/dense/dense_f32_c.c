/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f32_c);

void nnacl_dense_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const float *a = x + (ptrdiff_t)row * p->depth;
        for (int32_t unit = units.begin; unit < units.end; unit++) {
            const float *w = weights + (ptrdiff_t)unit * p->depth;
            float sum = bias ? bias[unit] : 0.0f;
            for (int32_t i = 0; i < p->depth; i++) {
                sum += a[i] * w[i];
            }
            y[(ptrdiff_t)row * p->units + unit] = nnacl_clamp_f32(sum, p->clamp_min, p->clamp_max);
        }
    }
}
