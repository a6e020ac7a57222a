/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_quantize_dynamic_f32_c);

void nnacl_quantize_dynamic_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_quantize_dynamic_params *p = params;
    const float *x = in[0];
    uint8_t *y = out[0];
    (void)ctx;
    float low = 0.0f, high = 0.0f;
    for (int32_t i = 0; i < p->count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    const float scale = low < high ? (high - low) / 255.0f : 1.0f;
    const int32_t zero = nnacl_round_even(-low / scale, 0, 255);
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (uint8_t)(nnacl_round_even(x[i] / scale, -zero, 255 - zero) + zero);
    }
    *(float *)out[1] = scale;
    *(uint8_t *)out[2] = (uint8_t)zero;
}
