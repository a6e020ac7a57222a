/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/vectors_f32_mve.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* What computes a row of vectors, of a vector and a scalar, and of a scalar and a vector (with the operands exchanged).
 */
typedef struct row_functions {
    nnacl_vectors_f32 vectors, by_scalar, of_scalar;
} row_functions;

static void run(const nnacl_ctx *ctx, const nnacl_binary_params *p, const void *const in[], void *const out[],
                const row_functions *functions) {
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    const int32_t a_step = p->a_strides[p->rank - 1] != 0, b_step = p->b_strides[p->rank - 1] != 0;
    const int32_t count = walk.end - walk.begin;
    const float limits[2] = {p->clamp_min, p->clamp_max};
    const bool is_clamped = p->clamp_min > -INFINITY || p->clamp_max < INFINITY;
    for (int32_t row = walk.row; row < walk.last_row; row++) {
        const float *a = (const float *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);
        const float *b = (const float *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);
        float *y = (float *)out[0] + (ptrdiff_t)row * walk.width + walk.begin;
        a += a_step * walk.begin;
        b += b_step * walk.begin;
        if (!a_step) {
            functions->of_scalar(b, a, y, count);
        } else {
            (b_step ? functions->vectors : functions->by_scalar)(a, b, y, count);
        }
        if (is_clamped) {
            nnacl_clamp_vectors_mve(y, limits, y, count);
        }
    }
}

/* Not the product: MVE takes denormal numbers for zero, and infinity times one of them would not be a number. */
#define BINARY(op, of_scalar)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f32_mve);                                                                               \
    void nnacl_##op##_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const row_functions functions = {nnacl_##op##_vectors_mve, nnacl_##op##_scalar_mve, of_scalar};                \
        run(ctx, params, in, out, &functions);                                                                         \
    }

BINARY(add, nnacl_add_scalar_mve)
BINARY(sub, nnacl_sub_from_scalar_mve)
