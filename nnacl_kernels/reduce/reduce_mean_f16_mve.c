/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "common/vector_f16_mve.h"
#include "reduce/reduce.h"

NNACL_DECLARE(nnacl_reduce_mean_f16_mve);

#define PIECE 64 /* elements whose sum is formed on its own before it joins the total: keeps long sums accurate */

/* Means of up to 8 neighbours, whose next elements lie `step` further. */
NNACL_F16_INLINE float16x8_t means(const float16_t *x, ptrdiff_t step, int32_t count, mve_pred16_t wanted) {
    float32x4x2_t total = nnacl_zero_floats_mve();
    for (int32_t j = 0; j < count;) {
        const int32_t end = count - j < PIECE ? count : j + PIECE;
        float32x4x2_t sum = nnacl_zero_floats_mve();
        for (; j < end; j++, x += step) {
            sum = nnacl_join_mve(sum, vldrhq_z_f16(x, wanted));
        }
        total.val[0] = vaddq_f32(total.val[0], sum.val[0]);
        total.val[1] = vaddq_f32(total.val[1], sum.val[1]);
    }
    return nnacl_scaled_mve(total, 1.0f / (float)count);
}

void nnacl_reduce_mean_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_reduce_params *p = params;
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, width = most < 8 ? most : 8;
        const float16_t *x = (const float16_t *)in[0] + (ptrdiff_t)outer * count * inner + channel;
        float16_t *y = (float16_t *)out[0] + output;
        const mve_pred16_t wanted = vctp16q((uint32_t)width);
        vstrhq_p_f16(y, means(x, inner, count, wanted), wanted);
        output += width;
    }
}
