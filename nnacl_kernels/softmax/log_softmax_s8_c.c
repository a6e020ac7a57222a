/* SPDX-License-Identifier: Apache-2.0 */
#include "common/float_math.h"
#include "common/requant.h"
#include "common/share.h"
#include "softmax/softmax.h"
#include "softmax/softmax_s8.h"

NNACL_DECLARE(nnacl_log_softmax_s8_c);

void nnacl_log_softmax_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const ptrdiff_t step = p->inner;
    const float *table = in[1];
    const float scale = p->x_scale / p->y_scale;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = (ptrdiff_t)(i / p->inner) * p->depth * step + i % p->inner;
        const int8_t *x = (const int8_t *)in[0] + start;
        int8_t *y = (int8_t *)out[0] + start;
        const nnacl_softmax_s8_sums sums = nnacl_softmax_s8_sum(x, step, p->depth, table);
        const float log_sum = (float)(nnacl_log2_double(sums.sum) * 0.69314718055994531);
        const float offset = (p->x_scale * (float)(sums.max + p->x_offset) + log_sum) / p->y_scale;
        for (int32_t j = 0; j < p->depth; j++) {
            const float scaled = scale * (float)(x[j * step] + p->x_offset) - offset;
            y[j * step] = (int8_t)(nnacl_round_even(scaled, -128 - p->y_zero, 127 - p->y_zero) + p->y_zero);
        }
    }
}
