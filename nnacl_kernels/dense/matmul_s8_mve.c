/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_mve.h"
#include "common/requant_sums_mve.h"
#include "common/rows_s8_mve.h"
#include "dense/matmul_rows_s8.h"

NNACL_DECLARE(nnacl_matmul_s8_mve);

static inline void add(const nnacl_matmul_row_s8 *row, int32_t first, int32_t count, int32_t *sums) {
    const int32_t k = row->p->k, n = row->p->n, zero = row->p->a_zero;
    if (!row->p->transpose_b) {
        nnacl_columns_s8_mve(row->a, zero, k, row->b + first, n, count, sums);
        return;
    }
    const int8_t *b = row->b + (ptrdiff_t)first * k;
    for (int32_t j = 0; j < count; j++, b += k) {
        int32_t both[2] = {0, 0};
        nnacl_row_s8_mve(row->a, b, k, both);
        sums[j] = both[0] - zero * both[1];
    }
}

static inline void finish(const nnacl_matmul_row_s8 *row, int32_t *sums, int32_t count, int8_t *y) {
    const nnacl_matmul_params *p = row->p;
    for (int32_t j = 0; j < count; j++) {
        sums[j] = (int32_t)((uint32_t)sums[j] - row->excess);
    }
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        nnacl_scale_sums_mve(sums, count, p->scale, p->y_zero, p->q_min, p->q_max, y);
        return;
    }
    nnacl_requant_sums_mve(sums, count, p->mult, p->shift, p->rounding, p->y_zero, p->q_min, p->q_max, y);
}

void nnacl_matmul_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_steps_s8 steps = {NULL, add, finish};
    nnacl_run_matmul_s8(ctx, params, in, out, steps);
}
