/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "quant/decode_weights.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_dense_compressed_s8_c);

/* Unit by unit, so that each row of weights is decoded once. */
void nnacl_dense_compressed_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_compressed_params *p = params;
    const int8_t *x = in[0];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    const nnacl_compressed weights = {
        .weights = in[1], .bits = p->bits, .depth = p->depth, .offset = p->offset, .step = p->step};
    int16_t *decoded = ctx->workspace;
    int8_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t unit = units.begin; unit < units.end; unit++) {
        nnacl_decode_integers(&weights, unit, decoded);
        for (int32_t row = 0; row < p->rows; row++) {
            const int8_t *a = x + (ptrdiff_t)row * p->depth;
            uint32_t sum = bias ? (uint32_t)bias[unit] : 0;
            for (int32_t i = 0; i < p->depth; i++) {
                sum += (uint32_t)((a[i] - p->x_zero) * decoded[i]);
            }
            y[(ptrdiff_t)row * p->units + unit] = (int8_t)nnacl_requant_channel(
                (int32_t)sum, requant, p->units, unit, p->rounding, p->y_zero, p->q_min, p->q_max);
        }
    }
}
