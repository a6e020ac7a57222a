/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "softmax/softmax_rows_s16.h"

NNACL_DECLARE(nnacl_softmax_s16_c);

void nnacl_softmax_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int16_t *exponential = in[1];
    const ptrdiff_t step = p->inner;
    const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);
    for (int32_t i = share.begin; i < share.end; i++) {
        const ptrdiff_t start = nnacl_softmax_row(p, i);
        const int16_t *x = (const int16_t *)in[0] + start;
        int16_t *y = (int16_t *)out[0] + start;
        const int32_t max = nnacl_softmax_max_s16(p, x);
        uint32_t sum = 0;
        for (int32_t j = 0; j < p->depth; j++) {
            y[j * step] = (int16_t)nnacl_softmax_exp_s16(p, x[j * step], max, exponential);
            sum += (uint32_t)y[j * step];
        }
        const nnacl_softmax_inverse inverse = nnacl_softmax_invert_s16(sum, exponential + 513);
        for (int32_t j = 0; j < p->depth; j++) {
            const int64_t product = (int64_t)y[j * step] * inverse.factor + ((int64_t)1 << inverse.right >> 1);
            y[j * step] = (int16_t)nnacl_clamp_s32((int32_t)(product >> inverse.right), 0, INT16_MAX);
        }
    }
}
