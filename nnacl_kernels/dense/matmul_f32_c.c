/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/share.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

NNACL_DECLARE(nnacl_matmul_f32_c);

/* One row of y. Element i of the row of a lies at a[i * a_step]. */
static void matmul_row(const nnacl_matmul_params *p, const float *a, ptrdiff_t a_step, const float *b,
                       const float *bias, float *y) {
    if (p->transpose_b) {
        for (int32_t j = 0; j < p->n; j++) {
            float sum = bias ? bias[j] : 0.0f;
            for (int32_t i = 0; i < p->k; i++) {
                sum += a[i * a_step] * b[(ptrdiff_t)j * p->k + i];
            }
            y[j] = sum;
        }
    } else { /* the same sums in the same order, along the rows of b */
        for (int32_t j = 0; j < p->n; j++) {
            y[j] = bias ? bias[j] : 0.0f;
        }
        for (int32_t i = 0; i < p->k; i++) {
            const float factor = a[i * a_step];
            const float *restrict b_row = b + (ptrdiff_t)i * p->n;
            float *restrict y_row = y;
            for (int32_t j = 0; j < p->n; j++) {
                y_row[j] += factor * b_row[j];
            }
        }
    }
    for (int32_t j = 0; j < p->n; j++) {
        y[j] = nnacl_clamp_f32(y[j], p->clamp_min, p->clamp_max);
    }
}

void nnacl_matmul_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const float *a = in[0], *b = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    const ptrdiff_t a_size = (ptrdiff_t)p->m * p->k, b_size = (ptrdiff_t)p->k * p->n;

    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int32_t batch = row / p->m, i = row % p->m;
        const float *a_matrix = a + nnacl_matmul_index(p, p->a_strides, batch) * a_size;
        const float *b_matrix = b + nnacl_matmul_index(p, p->b_strides, batch) * b_size;
        const float *a_row = p->transpose_a ? a_matrix + i : a_matrix + (ptrdiff_t)i * p->k;
        matmul_row(p, a_row, p->transpose_a ? p->m : 1, b_matrix, bias, y + (ptrdiff_t)row * p->n);
    }
}
