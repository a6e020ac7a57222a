/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_neon.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* a > 0 ? a : a * b */
static inline float32x4_t prelu_four(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtzq_f32(a), a, vmulq_f32(a, b));
}

NNACL_ALWAYS_INLINE vector square(vector v) {
    return mul(v, v);
}

/* One row. `expression` computes eight y from a and b, which are clamped; an operand that is repeated along the row is
 * read once. */
#define BINARY(op, expression)                                                                                         \
    NNACL_ALWAYS_INLINE void op##_row(const float *from_a, const float *from_b, float *y, int32_t count,               \
                                      const bool one_a, const bool one_b, vector low, vector high) {                   \
        vector a = spread(*from_a), b = spread(*from_b);                                                               \
        int32_t i = 0;                                                                                                 \
        for (; i + LANES <= count; i += LANES) {                                                                       \
            a = one_a ? a : load_all(from_a + i);                                                                      \
            b = one_b ? b : load_all(from_b + i);                                                                      \
            store_all(y + i, clamp(expression, low, high));                                                            \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            a = one_a ? a : load(from_a + i, lanes_of(count - i));                                                     \
            b = one_b ? b : load(from_b + i, lanes_of(count - i));                                                     \
            store(y + i, lanes_of(count - i), clamp(expression, low, high));                                           \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_##op##_f32_neon);                                                                              \
    void nnacl_##op##_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {  \
        const nnacl_binary_params *p = params;                                                                         \
        const vector low = spread(p->clamp_min), high = spread(p->clamp_max);                                          \
        const bool one_a = p->a_strides[p->rank - 1] == 0, one_b = p->b_strides[p->rank - 1] == 0;                     \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const int32_t begin = walk.begin, count = walk.end - begin;                                                \
            const float *a = (const float *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);            \
            const float *b = (const float *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);            \
            float *y = (float *)out[0] + (ptrdiff_t)row * walk.width + begin;                                          \
            if (count > 0 && one_a) {                                                                                  \
                op##_row(a, b + (one_b ? 0 : begin), y, count, true, one_b, low, high);                                \
            } else if (count > 0 && one_b) {                                                                           \
                op##_row(a + begin, b, y, count, false, true, low, high);                                              \
            } else if (count > 0) {                                                                                    \
                op##_row(a + begin, b + begin, y, count, false, false, low, high);                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add, add(a, b))
BINARY(sub, sub(a, b))
BINARY(mul, mul(a, b))
BINARY(div, divide(a, b))
BINARY(max, larger(a, b)) /* NaN in either operand is the result */
BINARY(min, smaller(a, b))
BINARY(squared_difference, square(sub(a, b)))
BINARY(prelu, ((vector){prelu_four(a.low, b.low), prelu_four(a.high, b.high)}))
