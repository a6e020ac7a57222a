/* SPDX-License-Identifier: Apache-2.0 */
#include "common/float_math.h"
#include "common/share.h"
#include "softmax/softmax_rows_s16.h"

NNACL_DECLARE(nnacl_log_softmax_s16_c);

void nnacl_log_softmax_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int16_t *exponential = in[1];
    const ptrdiff_t step = p->inner;
    const float scale = p->x_scale / p->y_scale;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = nnacl_softmax_row(p, i);
        const int16_t *x = (const int16_t *)in[0] + start;
        int16_t *y = (int16_t *)out[0] + start;
        const int32_t max = nnacl_softmax_max_s16(p, x);
        int64_t sum = 0;
        for (int32_t j = 0; j < p->depth; j++) {
            sum += nnacl_softmax_exp_s16(p, x[j * step], max, exponential);
        }
        /* The curve is in steps of 2^-15. */
        const float total = (float)(sum > 1 ? sum : 1);
        const float log_sum = (float)((nnacl_log2_double(total) - 15.0) * 0.69314718055994531);
        const float offset = log_sum / p->y_scale;
        for (int32_t j = 0; j < p->depth; j++) {
            const float value = scale * (float)(x[j * step] - max) - offset;
            y[j * step] = (int16_t)(nnacl_round_even(value, INT16_MIN - p->y_zero, INT16_MAX - p->y_zero) + p->y_zero);
        }
    }
}
