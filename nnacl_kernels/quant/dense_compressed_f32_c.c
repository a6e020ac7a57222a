/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_dense_compressed_f32_c);

void nnacl_dense_compressed_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_compressed_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL;
    const nnacl_compressed weights = {.weights = in[1],
                                      .scales = p->bits == 16 ? NULL : in[3],
                                      .bits = p->bits,
                                      .depth = p->depth,
                                      .group = p->group,
                                      .offset = p->offset,
                                      .step = p->step,
                                      .is_bfloat = p->bfloat != NNACL_BFLOAT_NONE};
    float *decoded = ctx->workspace, *y = out[0];
    if (p->bfloat == NNACL_BFLOAT_PRODUCTS) {
        nnacl_round_bfloats(x, p->rows * p->depth, decoded + p->depth);
        x = decoded + p->depth;
    }

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t unit = units.begin; unit < units.end; unit++) {
        nnacl_decode_weights(&weights, unit, decoded);
        for (int32_t row = 0; row < p->rows; row++) {
            const float *a = x + (ptrdiff_t)row * p->depth;
            float sum = 0.0f;
            for (int32_t i = 0; i < p->depth; i++) {
                sum += a[i] * decoded[i];
            }
            const float value = sum + (bias ? bias[unit] : 0.0f);
            y[(ptrdiff_t)row * p->units + unit] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
        }
    }
}
