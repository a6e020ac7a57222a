/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/clamp.h"
#include "common/rows_s8_dsp.h"
#include "common/share.h"
#include "quant/quant.h"
#include "quant/quantize_dynamic.h"

NNACL_DECLARE(nnacl_dense_dynamic_f32_dsp);

/* The row widened to 16 bits stands in front of the row. */
void nnacl_dense_dynamic_f32_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_dynamic_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL, *w_scales = in[3];
    uint32_t *wide = ctx->workspace;
    int8_t *quantized = (int8_t *)(wide + nnacl_row_words(p->depth));

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const nnacl_dynamic_scale q =
            nnacl_quantize_dynamic(x + (ptrdiff_t)row * p->depth, quantized, p->depth, p->asymmetric != 0);
        float *y = (float *)out[0] + (ptrdiff_t)row * p->units;
        nnacl_widen_row_s8_dsp(wide, quantized, p->depth, q.zero);
        for (int32_t unit = units.begin, count; unit < units.end; unit += count) {
            const int8_t *w = (const int8_t *)in[1] + (ptrdiff_t)unit * p->depth;
            int32_t sums[4] = {0, 0, 0, 0};
            count = units.end - unit < 4 ? 1 : 4;
            if (count == 4) {
                nnacl_rows4_s8_dsp(wide, quantized, q.zero, p->depth, w, p->depth, sums);
            } else {
                sums[0] = nnacl_row_s8_dsp(wide, quantized, q.zero, p->depth, w);
            }
            for (int32_t i = 0; i < count; i++) {
                const float start = bias ? bias[unit + i] : 0.0f;
                const float value = (float)sums[i] * (q.scale * w_scales[unit + i]) + start;
                y[unit + i] = nnacl_clamp_f32(value, p->clamp_min, p->clamp_max);
            }
        }
    }
}
