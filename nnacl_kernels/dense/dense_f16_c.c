/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/halves.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f16_c);

void nnacl_dense_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const uint16_t *x = in[0], *weights = in[1];
    const float *bias = p->has_bias ? in[2] : NULL;
    uint16_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        for (int32_t unit = units.begin; unit < units.end; unit++) {
            const float sum = nnacl_add_half_products(bias ? bias[unit] : 0.0f, x + (ptrdiff_t)row * p->depth,
                                                      weights + (ptrdiff_t)unit * p->depth, p->depth);
            y[(ptrdiff_t)row * p->units + unit] = nnacl_float_to_half(nnacl_clamp_f32(sum, p->clamp_min, p->clamp_max));
        }
    }
}
