/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/rows_s8_mve.h"
#include "common/share.h"
#include "quant/quant.h"
#include "quant/quantize_dynamic.h"

NNACL_DECLARE(nnacl_dense_dynamic_f32_mve);

void nnacl_dense_dynamic_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_dynamic_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL, *w_scales = in[3];
    int8_t *quantized = ctx->workspace;

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const nnacl_dynamic_scale q =
            nnacl_quantize_dynamic(x + (ptrdiff_t)row * p->depth, quantized, p->depth, p->asymmetric != 0);
        float *y = (float *)out[0] + (ptrdiff_t)row * p->units;
        for (int32_t unit = units.begin, count; unit < units.end; unit += count) {
            const int8_t *w = (const int8_t *)in[1] + (ptrdiff_t)unit * p->depth;
            int32_t sums[4] = {0, 0, 0, 0};
            count = units.end - unit < 4 || q.zero ? 1 : 4;
            if (count == 4) {
                nnacl_rows4_s8_mve(quantized, w, p->depth, p->depth, sums);
            } else {
                nnacl_row_s8_mve(quantized, w, p->depth, sums);
                sums[0] = (int32_t)((uint32_t)sums[0] - (uint32_t)q.zero * (uint32_t)sums[1]);
            }
            for (int32_t i = 0; i < count; i++) {
                const float start = bias ? bias[unit + i] : 0.0f;
                const float value = (float)sums[i] * (q.scale * w_scales[unit + i]) + start;
                y[unit + i] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
            }
        }
    }
}
