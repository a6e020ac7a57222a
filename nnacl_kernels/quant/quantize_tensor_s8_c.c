/* SPDX-License-Identifier: Apache-2.0 */
/* To int8 with the scale and zero point of the attributes: what stands at the border of most integer models. */
#include "common/requant.h"
#include "common/share.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_quantize_tensor_s8_c);

void nnacl_quantize_tensor_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_quantize_params *p = params;
    const float *x = in[0];
    int8_t *y = out[0];
    const int32_t low = INT8_MIN - p->zero, high = INT8_MAX - p->zero;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float scaled = x[i] == x[i] ? x[i] / p->scale : 0.0f;
        const int32_t whole = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN) ? nnacl_round_even(scaled, low, high)
                                                                                : nnacl_round_away(scaled, low, high);
        y[i] = (int8_t)(whole + p->zero);
    }
}
