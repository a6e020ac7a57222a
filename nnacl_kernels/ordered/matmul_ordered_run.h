/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_ordered. A file for an instruction set names its own sums before it includes this. */
#ifndef NNACL_MATMUL_ORDERED_RUN_H
#define NNACL_MATMUL_ORDERED_RUN_H

#include "common/share.h"
#include "ordered/ordered_sums.h"

#ifndef NNACL_ORDERED_SUMS
#define NNACL_ORDERED_SUMS nnacl_ordered_sums
#endif

static inline void nnacl_matmul_ordered_run(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[]) {
    const nnacl_matmul_ordered_params *p = params;
    const float *a = in[0], *b = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    /* Eights are for one row, whose results lie in its columns, or for one column. */
    const bool by_row = p->rows > 1;
    const nnacl_ordered_row how = {p->order, p->block, p->depth, p->columns, by_row ? p->rows : p->columns};
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->rows);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const float *factors = a + (ptrdiff_t)row * p->depth;
        const float *matrix = b + (ptrdiff_t)(row / p->rows) * p->depth * p->columns;
        float *sums = y + (ptrdiff_t)row * p->columns;
        for (int32_t column = 0; column < p->columns; column++) {
            sums[column] = bias ? bias[column] : 0.0f;
        }
        for (int32_t column = 0; column < p->columns; column += NNACL_ORDERED_LANES) {
            const int32_t left = p->columns - column;
            const int32_t lanes = left < NNACL_ORDERED_LANES ? left : NNACL_ORDERED_LANES;
            NNACL_ORDERED_SUMS(&how, factors, matrix + column, lanes, by_row ? row % p->rows : column, by_row ? 0 : 1,
                               sums + column);
        }
    }
}

#endif
