/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "softmax/softmax.h"
#include "softmax/softmax_s8.h"

NNACL_DECLARE(nnacl_softmax_s8_c);
void nnacl_softmax_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const ptrdiff_t step = p->inner;
    const float *table = in[1];
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = (ptrdiff_t)(i / p->inner) * p->depth * step + i % p->inner;
        const int8_t *x = (const int8_t *)in[0] + start;
        int8_t *y = (int8_t *)out[0] + start;
        const nnacl_softmax_s8_sums sums = nnacl_softmax_s8_sum(x, step, p->depth, table);
        if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
            const float factor = 1.0f / sums.sum;
            for (int32_t j = 0; j < p->depth; j++) {
                const float scaled = nnacl_softmax_s8_exp(table, sums.max - x[j * step]) * factor / p->y_scale;
                y[j * step] = (int8_t)(nnacl_round_even(scaled, -128 - p->y_zero, 127 - p->y_zero) + p->y_zero);
            }
            continue;
        }
        const float factor = 1.0f / (sums.sum * p->y_scale);
        const bool is_wide = p->to == NNACL_S16;
        const int32_t least = is_wide ? INT16_MIN : INT8_MIN, most = is_wide ? INT16_MAX : INT8_MAX;
        for (int32_t j = 0; j < p->depth; j++) {
            const float scaled = nnacl_softmax_s8_exp(table, sums.max - x[j * step]) * factor;
            const int32_t value = nnacl_round_away(scaled, least - p->y_zero, most - p->y_zero) + p->y_zero;
            if (is_wide) {
                ((int16_t *)out[0])[start + j * step] = (int16_t)value;
            } else {
                y[j * step] = (int8_t)value;
            }
        }
    }
}
