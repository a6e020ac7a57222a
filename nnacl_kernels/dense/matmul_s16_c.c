/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/requant.h"
#include "common/requant_wide.h"
#include "common/share.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

NNACL_DECLARE(nnacl_matmul_s16_c);

static int16_t finish(int64_t sum, const nnacl_matmul_params *p) {
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        const float scaled = (float)sum * p->scale;
        return (int16_t)(nnacl_round_even(scaled, p->q_min - p->y_zero, p->q_max - p->y_zero) + p->y_zero);
    }
    const int32_t scaled = nnacl_requant_wide(sum, p->mult, p->shift, p->rounding);
    return (int16_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

void nnacl_matmul_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    const ptrdiff_t a_size = (ptrdiff_t)p->m * p->k, b_size = (ptrdiff_t)p->k * p->n;
    const ptrdiff_t a_step = p->transpose_a ? p->m : 1, b_step = p->transpose_b ? 1 : p->n;
    for (int32_t index = rows.begin; index < rows.end; index++) {
        const int32_t batch = index / p->m, row = index % p->m;
        const int16_t *a = (const int16_t *)in[0] + nnacl_matmul_index(p, p->a_strides, batch) * a_size;
        const int16_t *b = (const int16_t *)in[1] + nnacl_matmul_index(p, p->b_strides, batch) * b_size;
        a += p->transpose_a ? row : (ptrdiff_t)row * p->k;
        int16_t *y = (int16_t *)out[0] + (ptrdiff_t)index * p->n;
        for (int32_t column = 0; column < p->n; column++) {
            const int16_t *values = b + (p->transpose_b ? (ptrdiff_t)column * p->k : column);
            int64_t sum = 0;
            for (int32_t l = 0; l < p->k; l++) {
                sum += (int64_t)(a[l * a_step] - p->a_zero) * (values[l * b_step] - p->b_zero);
            }
            y[column] = finish(sum, p);
        }
    }
}
