/* SPDX-License-Identifier: Apache-2.0 */
/* Computed in f32, rounded once. One loop for all, because it is for machines without half-precision arithmetic. */
#include "common/half.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"
#include "elementwise/simple_f32.h"

typedef float (*pair_function)(float a, float b);

static NNACL_NOINLINE void run(const nnacl_ctx *ctx, const nnacl_binary_params *p, const void *const in[],
                               void *const out[], pair_function function) {
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    const int32_t a_step = p->a_strides[p->rank - 1], b_step = p->b_strides[p->rank - 1];
    for (int32_t row = walk.row; row < walk.last_row; row++) {
        const uint16_t *a = (const uint16_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);
        const uint16_t *b = (const uint16_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);
        uint16_t *y = (uint16_t *)out[0] + (ptrdiff_t)row * walk.width;
        for (int32_t i = walk.begin; i < walk.end; i++) {
            const float value = function(nnacl_half_to_float(a[i * a_step]), nnacl_half_to_float(b[i * b_step]));
            y[i] = nnacl_float_to_half(nnacl_clamp_f32(value, p->clamp_min, p->clamp_max));
        }
    }
}

#define BINARY(op)                                                                                                     \
    NNACL_DECLARE(nnacl_##op##_f16_c);                                                                                 \
    void nnacl_##op##_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {     \
        run(ctx, params, in, out, nnacl_##op##_f32);                                                                   \
    }

BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(max)
BINARY(min)
