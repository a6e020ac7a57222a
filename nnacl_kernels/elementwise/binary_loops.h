/* SPDX-License-Identifier: Apache-2.0 */
/* Binary ops of floats by loops over rows of vectors. */
#ifndef NNACL_BINARY_LOOPS_H
#define NNACL_BINARY_LOOPS_H

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

typedef void (*nnacl_row_loop)(const float *a, const float *b, float *y, int32_t count);

/* What computes a row of vectors, of a vector and a scalar, and of a scalar and a vector (with the operands exchanged).
 */
typedef struct nnacl_row_loops {
    nnacl_row_loop vectors, by_scalar, of_scalar;
} nnacl_row_loops;

/* `clamp`, with a pair of limits for b, over each row of results; NULL: none. */
static inline void nnacl_binary_loops(const nnacl_ctx *ctx, const nnacl_binary_params *p, const void *const in[],
                                      void *const out[], const nnacl_row_loops *loops, nnacl_row_loop clamp) {
    const float limits[2] = {p->clamp_min, p->clamp_max};
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    const int32_t a_step = p->a_strides[p->rank - 1] != 0, b_step = p->b_strides[p->rank - 1] != 0;
    const int32_t count = walk.end - walk.begin;
    for (int32_t row = walk.row; row < walk.last_row; row++) {
        const float *a = (const float *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);
        const float *b = (const float *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);
        float *y = (float *)out[0] + (ptrdiff_t)row * walk.width + walk.begin;
        a += a_step * walk.begin;
        b += b_step * walk.begin;
        if (!a_step) {
            loops->of_scalar(b, a, y, count);
        } else {
            (b_step ? loops->vectors : loops->by_scalar)(a, b, y, count);
        }
        if (clamp) {
            clamp(y, limits, y, count);
        }
    }
}

#endif
