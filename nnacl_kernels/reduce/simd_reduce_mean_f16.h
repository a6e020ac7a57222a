/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_mean of halves over one axis, eight neighbours at a time, for the vectors of whatever vector_f16_*.h was
 * included before. */
#ifndef NNACL_SIMD_REDUCE_MEAN_F16_H
#define NNACL_SIMD_REDUCE_MEAN_F16_H

#include "common/share.h"
#include "reduce/reduce.h"

#define PIECE 64 /* elements whose sum is formed on its own before it joins the total: keeps long sums accurate */

/* Means of up to 8 neighbours, whose next elements lie `step` further. */
NNACL_ALWAYS_INLINE float16x8_t means_f16(const float16_t *x, ptrdiff_t step, int32_t count, nnacl_lanes_f16 lanes) {
    nnacl_wide_f16 total = nnacl_zeros_f16();
    for (int32_t j = 0; j < count;) {
        const int32_t end = count - j < PIECE ? count : j + PIECE;
        nnacl_wide_f16 sum = nnacl_zeros_f16();
        for (; j < end; j++, x += step) {
            sum = nnacl_join_f16(sum, nnacl_load_f16(x, lanes));
        }
        total = nnacl_add_wide_f16(total, sum);
    }
    return nnacl_quotient_f16(total, (float)count);
}

NNACL_ALWAYS_INLINE void reduce_mean_f16(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                         void *const out[]) {
    const nnacl_reduce_params *p = params;
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, width = most < 8 ? most : 8;
        const float16_t *x = (const float16_t *)in[0] + (ptrdiff_t)outer * count * inner + channel;
        float16_t *y = (float16_t *)out[0] + output;
        const nnacl_lanes_f16 lanes = nnacl_lanes_of_f16(width);
        if (nnacl_is_whole_f16(lanes)) {
            nnacl_store_f16(y, means_f16(x, inner, count, NNACL_WHOLE_F16), NNACL_WHOLE_F16);
        } else {
            nnacl_store_f16(y, means_f16(x, inner, count, lanes), lanes);
        }
        output += width;
    }
}

#endif
