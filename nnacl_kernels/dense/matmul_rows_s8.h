/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of s8 for small machines: one row of a with some columns of b at a time. */
#ifndef NNACL_MATMUL_ROWS_S8_H
#define NNACL_MATMUL_ROWS_S8_H

#include "common/share.h"
#include "dense/matmul_batch.h"
#include "dense/matmul_finish_s8.h"

/* Columns that are computed at a time. */
#define NNACL_MATMUL_COLUMNS 32

typedef struct nnacl_matmul_row_s8 {
    const nnacl_matmul_params *p;
    const int8_t *a, *b; /* a row of k elements, a matrix */
    void *workspace;
    uint32_t excess; /* what the zero point of b adds to each sum */
} nnacl_matmul_row_s8;

/* What a kernel does: once for each row (may be NULL), the sums of (a - a_zero) * b of `count` columns, which are 0 at
 * the start, and the elements of y from these sums. */
typedef struct nnacl_matmul_steps_s8 {
    void (*begin)(const nnacl_matmul_row_s8 *row);
    void (*add)(const nnacl_matmul_row_s8 *row, int32_t first, int32_t count, int32_t *sums);
    void (*finish)(const nnacl_matmul_row_s8 *row, int32_t *sums, int32_t count, int8_t *y);
} nnacl_matmul_steps_s8;

static inline void nnacl_run_matmul_s8(const nnacl_ctx *ctx, const nnacl_matmul_params *p, const void *const in[],
                                       void *const out[], const nnacl_matmul_steps_s8 steps) {
    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t index = rows.begin; index < rows.end; index++) {
        const int32_t batch = index / p->m;
        nnacl_matmul_row_s8 row = {
            .p = p,
            .a = (const int8_t *)in[0] + (nnacl_matmul_index(p, p->a_strides, batch) * p->m + index % p->m) * p->k,
            .b = (const int8_t *)in[1] + nnacl_matmul_index(p, p->b_strides, batch) * p->k * p->n,
            .workspace = ctx->workspace,
        };
        for (int32_t i = 0; i < p->k && p->b_zero != 0; i++) {
            row.excess += (uint32_t)((row.a[i] - p->a_zero) * p->b_zero);
        }
        if (steps.begin) {
            steps.begin(&row);
        }
        for (int32_t first = 0; first < p->n; first += NNACL_MATMUL_COLUMNS) {
            const int32_t count = p->n - first < NNACL_MATMUL_COLUMNS ? p->n - first : NNACL_MATMUL_COLUMNS;
            int32_t sums[NNACL_MATMUL_COLUMNS];
            for (int32_t j = 0; j < count; j++) {
                sums[j] = 0;
            }
            steps.add(&row, first, count, sums);
            steps.finish(&row, sums, count, (int8_t *)out[0] + (ptrdiff_t)index * p->n + first);
        }
    }
}

#endif
