/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_neon.h>

#include "common/share.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_cast_f32_fp16);
NNACL_DECLARE(nnacl_cast_f16_fp16);

void nnacl_cast_f32_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const float *x = in[0];
    float16_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    int32_t i = share.begin;
    for (; i + 8 <= share.end; i += 8) {
        vst1q_f16(y + i, vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(x + i)), vld1q_f32(x + i + 4)));
    }
    for (; i < share.end; i++) {
        y[i] = (float16_t)x[i];
    }
}

void nnacl_cast_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const float16_t *x = in[0];
    float *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    int32_t i = share.begin;
    for (; i + 8 <= share.end; i += 8) {
        const float16x8_t v = vld1q_f16(x + i);
        vst1q_f32(y + i, vcvt_f32_f16(vget_low_f16(v)));
        vst1q_f32(y + i + 4, vcvt_high_f32_f16(v));
    }
    for (; i < share.end; i++) {
        y[i] = x[i];
    }
}
