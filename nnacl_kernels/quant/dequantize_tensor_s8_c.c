/* SPDX-License-Identifier: Apache-2.0 */
/* From int8 with the scale and zero point of the attributes: what stands at the border of most integer models. */
#include "common/share.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_dequantize_tensor_s8_c);

void nnacl_dequantize_tensor_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dequantize_params *p = params;
    const int8_t *x = in[0];
    float *y = out[0];
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = p->scale * (float)(x[i] - p->zero);
    }
}
