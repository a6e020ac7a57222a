/* SPDX-License-Identifier: Apache-2.0 */
/* Between f32 and f16 alone. */
#include "common/half.h"
#include "common/share.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_cast_f32_c);
NNACL_DECLARE(nnacl_cast_f16_c);

void nnacl_cast_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const float *x = in[0];
    uint16_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = nnacl_float_to_half(x[i]);
    }
}

void nnacl_cast_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const uint16_t *x = in[0];
    float *y = out[0];
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_cast_params *)params)->count);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = nnacl_half_to_float(x[i]);
    }
}
