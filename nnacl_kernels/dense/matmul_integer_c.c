/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products modulo 2^32 or 2^64: computed unsigned, so that signed and unsigned numbers share the code. */
#include "common/share.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

#define MATMUL(dtype, type)                                                                                            \
    NNACL_DECLARE(nnacl_matmul_##dtype##_c);                                                                           \
    void nnacl_matmul_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_matmul_params *p = params;                                                                         \
        const ptrdiff_t a_size = (ptrdiff_t)p->m * p->k, b_size = (ptrdiff_t)p->k * p->n;                              \
        const ptrdiff_t a_step = p->transpose_a ? p->m : 1, b_step = p->transpose_b ? 1 : p->n;                        \
        const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);                                     \
        for (int32_t row = rows.begin; row < rows.end; row++) {                                                        \
            const int32_t batch = row / p->m, i = row % p->m;                                                          \
            const type *a = (const type *)in[0] + nnacl_matmul_index(p, p->a_strides, batch) * a_size +                \
                            (p->transpose_a ? i : (ptrdiff_t)i * p->k);                                                \
            const type *b = (const type *)in[1] + nnacl_matmul_index(p, p->b_strides, batch) * b_size;                 \
            type *y = (type *)out[0] + (ptrdiff_t)row * p->n;                                                          \
            for (int32_t j = 0; j < p->n; j++) {                                                                       \
                const type *column = b + (p->transpose_b ? (ptrdiff_t)j * p->k : j);                                   \
                type sum = 0;                                                                                          \
                for (int32_t l = 0; l < p->k; l++) {                                                                   \
                    sum += a[l * a_step] * column[l * b_step];                                                         \
                }                                                                                                      \
                y[j] = sum;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

MATMUL(i32, uint32_t)
MATMUL(i64, uint64_t)
