/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "dense/matmul_finish_s8.h"
#include "dense/matmul_sums.h"

NNACL_DECLARE(nnacl_matmul_s8_c);

void nnacl_matmul_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t index = rows.begin; index < rows.end; index++) {
        nnacl_byte_row row = nnacl_byte_row_at(p, in[0], in[1], index);
        row.a_zero = (uint32_t)p->a_zero;
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)index * p->n;
        for (int32_t first = 0; first < p->n; first += NNACL_MATMUL_SUMS) {
            const int32_t count = p->n - first < NNACL_MATMUL_SUMS ? p->n - first : NNACL_MATMUL_SUMS;
            uint32_t sums[NNACL_MATMUL_SUMS];
            const uint32_t excess = nnacl_matmul_sums(p, &row, first, count, sums) * (uint32_t)p->b_zero;
            for (int32_t j = 0; j < count; j++) {
                y[first + j] = nnacl_matmul_finish_s8((int32_t)(sums[j] - excess), p);
            }
        }
    }
}
