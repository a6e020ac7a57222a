/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "common/vector_f16_mve.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_cast_f32_mve);
NNACL_DECLARE(nnacl_cast_f16_mve);

void nnacl_cast_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const float *x = in[0];
    float16_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    int32_t i = share.begin;
    for (; i + 8 <= share.end; i += 8) {
        vst1q_f16(y + i, nnacl_halves_of_mve(vld2q_f32(x + i)));
    }
    for (; i < share.end; i++) {
        y[i] = (float16_t)x[i];
    }
}

void nnacl_cast_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const float16_t *x = in[0];
    float *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    int32_t i = share.begin;
    for (; i + 8 <= share.end; i += 8) {
        vst2q_f32(y + i, nnacl_floats_of_mve(vld1q_f16(x + i)));
    }
    for (; i < share.end; i++) {
        y[i] = (float)x[i];
    }
}
