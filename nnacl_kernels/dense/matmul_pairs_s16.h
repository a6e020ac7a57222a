/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of s16 without zero points for small machines: two columns of one or two rows at a time. */
#ifndef NNACL_MATMUL_PAIRS_S16_H
#define NNACL_MATMUL_PAIRS_S16_H

#include "common/finish_s16_dsp.h"
#include "common/share.h"
#include "dense/matmul_batch.h"

/* `a` and `second` are rows of `length` (at least 1) elements, `b` and `b` + column_step columns whose elements are
 * `step` apart. Either two may be one. The sources in assembly know the order of these fields. */
typedef struct nnacl_matmul_pair_s16 {
    const int16_t *a, *second, *b;
    int32_t column_step; /* bytes */
    int32_t length;
    int32_t step;
    int64_t *sums; /* [rows][2], added to */
} nnacl_matmul_pair_s16;

/* `multiply` adds the products of `rows` rows, 1 or `most_rows`. */
static inline void nnacl_matmul_pairs_s16(const nnacl_ctx *ctx, const nnacl_matmul_params *p, const void *const in[],
                                          void *const out[], int32_t most_rows,
                                          void (*multiply)(const nnacl_matmul_pair_s16 *pair)) {
    const int32_t requant[2] = {p->mult, p->shift};
    const bool is_even = NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN);
    const nnacl_ends_s16 ends = {
        NULL, is_even ? (const void *)&p->scale : requant, 0, 1, p->rounding, p->y_zero, p->q_min, p->q_max};
    const int32_t factor = nnacl_factor_s16_dsp(&ends, 0);
    const ptrdiff_t b_size = (ptrdiff_t)p->k * p->n, column_step = p->transpose_b ? p->k : 1;
    const nnacl_range share = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t index = share.begin, rows; index < share.end; index += rows) {
        const int32_t batch = index / p->m, row = index % p->m;
        rows = most_rows == 2 && row + 1 < p->m && index + 1 < share.end ? 2 : 1;
        const int16_t *a = (const int16_t *)in[0] + (nnacl_matmul_index(p, p->a_strides, batch) * p->m + row) * p->k;
        const int16_t *b = (const int16_t *)in[1] + nnacl_matmul_index(p, p->b_strides, batch) * b_size;
        int16_t *y = (int16_t *)out[0] + (ptrdiff_t)index * p->n;
        for (int32_t column = 0, count; column < p->n; column += count) {
            count = column + 1 < p->n ? 2 : 1;
            int64_t sums[4] = {0, 0, 0, 0};
            const nnacl_matmul_pair_s16 pair = {
                .a = a,
                .second = a + (rows - 1) * p->k,
                .b = b + column * column_step,
                .column_step = count == 2 ? (int32_t)(column_step * (ptrdiff_t)sizeof(int16_t)) : 0,
                .length = p->k,
                .step = p->transpose_b ? 1 : p->n,
                .sums = sums,
            };
            if (p->k > 0) {
                multiply(&pair);
            }
            for (int32_t i = 0; i < 2 * rows; i++) {
                if (i % 2 < count) {
                    y[i / 2 * p->n + column + i % 2] = nnacl_finish_s16_dsp(&ends, factor, sums[i], 0);
                }
            }
        }
    }
}

#endif
