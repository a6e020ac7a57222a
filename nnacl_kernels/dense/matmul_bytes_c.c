/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "dense/matmul_sums.h"

NNACL_DECLARE(nnacl_matmul_integer_c);

void nnacl_matmul_integer_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const int32_t *a_zeros = p->a_zeros ? in[2] : NULL, *b_zeros = p->b_zeros ? in[3] : NULL;
    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t index = rows.begin; index < rows.end; index++) {
        nnacl_byte_row row = nnacl_byte_row_at(p, in[0], in[1], index);
        row.a_zero = nnacl_byte_zero(a_zeros ? a_zeros[p->a_zeros > 1 ? index % p->m : 0] : p->a_zero, row.a_flip);
        int32_t *y = (int32_t *)out[0] + (ptrdiff_t)index * p->n;
        for (int32_t first = 0; first < p->n; first += NNACL_MATMUL_SUMS) {
            const int32_t count = p->n - first < NNACL_MATMUL_SUMS ? p->n - first : NNACL_MATMUL_SUMS;
            uint32_t sums[NNACL_MATMUL_SUMS];
            const uint32_t total = nnacl_matmul_sums(p, &row, first, count, sums);
            for (int32_t j = 0; j < count; j++) {
                const int32_t zero = b_zeros ? b_zeros[p->b_zeros > 1 ? first + j : 0] : p->b_zero;
                y[first + j] = (int32_t)(sums[j] - total * nnacl_byte_zero(zero, row.b_flip));
            }
        }
    }
}
