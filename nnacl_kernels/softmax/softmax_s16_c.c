/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "softmax/softmax_rows_s16.h"

NNACL_DECLARE(nnacl_softmax_s16_c);

static int32_t leading_zeros(uint32_t value) {
    int32_t count = 0;
    while (count < 32 && !(value >> (31 - count) & 1u)) {
        count++;
    }
    return count;
}

void nnacl_softmax_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const int16_t *exponential = in[1], *inverse = exponential + 513;
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
        /* The sum as 1 + a fraction, times a power of two. */
        const int32_t zeros = nnacl_clamp_s32(leading_zeros(sum), 1, 30);
        const int64_t fraction = (((int64_t)(int32_t)sum * ((int64_t)1 << (zeros - 1))) + (1 << 13)) >> 14;
        const int32_t factor = nnacl_curve_at_s16(inverse, (int32_t)fraction - (1 << 15) - (1 << 16));
        const int32_t right = 31 - zeros;
        for (int32_t j = 0; j < p->depth; j++) {
            const int64_t product = (int64_t)y[j * step] * factor + ((int64_t)1 << right >> 1);
            y[j * step] = (int16_t)nnacl_clamp_s32((int32_t)(product >> right), 0, INT16_MAX);
        }
    }
}
