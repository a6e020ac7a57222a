/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a broadcast: rows of y, and where the rows of the operands begin. */
#ifndef NNACL_BROADCAST_H
#define NNACL_BROADCAST_H

#include "common/share.h"

/* The share of this part: rows [row, last_row) of y, and in each the elements [begin, end). `width` is the length of a
 * whole row. A single row is split inside, several rows are split between the parts. */
typedef struct nnacl_walk {
    int32_t row, last_row;
    int32_t begin, end;
    int32_t width;
} nnacl_walk;

static inline nnacl_walk nnacl_walk_rows(const nnacl_ctx *ctx, int32_t rank, const int32_t *dims) {
    int32_t rows = 1;
    for (int32_t i = 0; i < rank - 1; i++) {
        rows *= dims[i];
    }
    const int32_t width = dims[rank - 1];
    const nnacl_range share = nnacl_share(ctx, rows == 1 ? width : rows);
    const nnacl_walk single = {0, 1, share.begin, share.end, width};
    const nnacl_walk many = {share.begin, share.end, 0, width, width};
    return rows == 1 ? single : many;
}

/* Where row `row` of y begins in an operand, in elements. */
static inline ptrdiff_t nnacl_walk_offset(int32_t row, int32_t rank, const int32_t *dims, const int32_t *strides) {
    ptrdiff_t offset = 0;
    for (int32_t i = rank - 2; i >= 0; i--) {
        offset += (ptrdiff_t)(row % dims[i]) * strides[i];
        row /= dims[i];
    }
    return offset;
}

/* Defines the kernel nnacl_<op>_<dtype>_c over nnacl_binary_params. `expression` computes one y from a, b and p. The
 * three loops are the same but for the operand that is repeated along the row. */
#define NNACL_BROADCAST_KERNEL(symbol, params_type, in_type, out_type, expression)                                     \
    static inline out_type symbol##_one(in_type a, in_type b, const params_type *p) {                                  \
        (void)p;                                                                                                       \
        return expression;                                                                                             \
    }                                                                                                                  \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const params_type *p = params;                                                                                 \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const in_type *a = (const in_type *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);        \
            const in_type *b = (const in_type *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);        \
            out_type *y = (out_type *)out[0] + (ptrdiff_t)row * walk.width;                                            \
            if (p->a_strides[p->rank - 1] == 0) {                                                                      \
                const in_type first = *a;                                                                              \
                for (int32_t i = walk.begin; i < walk.end; i++) {                                                      \
                    y[i] = symbol##_one(first, b[i], p);                                                               \
                }                                                                                                      \
            } else if (p->b_strides[p->rank - 1] == 0) {                                                               \
                const in_type second = *b;                                                                             \
                for (int32_t i = walk.begin; i < walk.end; i++) {                                                      \
                    y[i] = symbol##_one(a[i], second, p);                                                              \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int32_t i = walk.begin; i < walk.end; i++) {                                                      \
                    y[i] = symbol##_one(a[i], b[i], p);                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
