/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_dsp.h"
#include "common/lanes_dsp.h"
#include "common/rows_s8_dsp.h"
#include "dense/matmul_rows_s8.h"

NNACL_DECLARE(nnacl_matmul_s8_dsp);

static inline void begin(const nnacl_matmul_row_s8 *row) {
    if (row->p->transpose_b) {
        nnacl_widen_row_s8_dsp(row->workspace, row->a, row->p->k, row->p->a_zero);
    }
}

static inline void add(const nnacl_matmul_row_s8 *row, int32_t first, int32_t count, int32_t *sums) {
    const int32_t k = row->p->k, n = row->p->n, zero = row->p->a_zero;
    if (!row->p->transpose_b) {
        nnacl_columns_s8_dsp(row->a, zero, k, row->b + first, n, count, sums);
        return;
    }
    const int8_t *b = row->b + (ptrdiff_t)first * k;
    int32_t j = 0;
    for (; j + 4 <= count; j += 4) {
        nnacl_rows4_s8_dsp(row->workspace, row->a, zero, k, b + (ptrdiff_t)j * k, k, sums + j);
    }
    for (; j < count; j++) {
        sums[j] = nnacl_row_s8_dsp(row->workspace, row->a, zero, k, b + (ptrdiff_t)j * k);
    }
}

static inline void finish(const nnacl_matmul_row_s8 *row, int32_t *sums, int32_t count, int8_t *y) {
    const nnacl_matmul_params *p = row->p;
    for (int32_t j = 0; j < count; j++) {
        const int32_t sum = (int32_t)((uint32_t)sums[j] - row->excess);
        y[j] = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)
                   ? (int8_t)nnacl_requant_float_dsp(sum, p->scale, p->y_zero, p->q_min, p->q_max)
                   : nnacl_matmul_finish_s8(sum, p);
    }
}

void nnacl_matmul_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_steps_s8 steps = {begin, add, finish};
    nnacl_run_matmul_s8(ctx, params, in, out, steps);
}
