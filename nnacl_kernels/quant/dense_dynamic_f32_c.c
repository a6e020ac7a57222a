/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/dot_s8.h"
#include "common/share.h"
#include "quant/quant.h"
#include "quant/quantize_dynamic.h"

NNACL_DECLARE(nnacl_dense_dynamic_f32_c);

void nnacl_dense_dynamic_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_dynamic_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL, *w_scales = in[3];
    const int8_t *weights = in[1];
    int8_t *quantized = ctx->workspace;
    float *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const nnacl_dynamic_scale q =
            nnacl_quantize_dynamic(x + (ptrdiff_t)row * p->depth, quantized, p->depth, p->asymmetric != 0);
        for (int32_t unit = units.begin; unit < units.end; unit++) {
            const int8_t *w = weights + (ptrdiff_t)unit * p->depth;
            const int32_t sum = (int32_t)nnacl_dot_s8(0, quantized, w, p->depth, q.zero, 0);
            const float value = (float)sum * (q.scale * w_scales[unit]) + (bias ? bias[unit] : 0.0f);
            y[(ptrdiff_t)row * p->units + unit] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
        }
    }
}
