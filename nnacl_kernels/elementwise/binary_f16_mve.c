/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f16_mve.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* A step of 0 repeats an operand along the row. */
#define BINARY(op, function)                                                                                           \
    NNACL_DECLARE(nnacl_##op##_f16_mve);                                                                               \
    void nnacl_##op##_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const nnacl_binary_params *p = params;                                                                         \
        const float16x8_t low = vdupq_n_f16((float16_t)p->clamp_min), high = vdupq_n_f16((float16_t)p->clamp_max);     \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        const bool a_steps = p->a_strides[p->rank - 1] != 0, b_steps = p->b_strides[p->rank - 1] != 0;                 \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const float16_t *a = (const float16_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);    \
            const float16_t *b = (const float16_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);    \
            float16_t *y = (float16_t *)out[0] + (ptrdiff_t)row * walk.width;                                          \
            for (int32_t i = walk.begin; i < walk.end; i += 8) {                                                       \
                const mve_pred16_t wanted = vctp16q((uint32_t)(walk.end - i));                                         \
                const float16x8_t left = a_steps ? vldrhq_z_f16(a + i, wanted) : vdupq_n_f16(*a);                      \
                const float16x8_t right = b_steps ? vldrhq_z_f16(b + i, wanted) : vdupq_n_f16(*b);                     \
                vstrhq_p_f16(y + i, nnacl_clamp_f16(function(left, right), low, high), wanted);                        \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add, vaddq_f16)
BINARY(sub, vsubq_f16)
BINARY(mul, vmulq_f16)
