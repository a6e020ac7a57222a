/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_neon.h>

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* A step of 0 repeats an operand along the row. */
#define BINARY(op, function)                                                                                           \
    NNACL_DECLARE(nnacl_##op##_f16_fp16);                                                                              \
    void nnacl_##op##_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {  \
        const nnacl_binary_params *p = params;                                                                         \
        const float16x8_t low = vdupq_n_f16((float16_t)p->clamp_min), high = vdupq_n_f16((float16_t)p->clamp_max);     \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        const int32_t a_step = p->a_strides[p->rank - 1], b_step = p->b_strides[p->rank - 1];                          \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const float16_t *a = (const float16_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);    \
            const float16_t *b = (const float16_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);    \
            float16_t *y = (float16_t *)out[0] + (ptrdiff_t)row * walk.width;                                          \
            int32_t i = walk.begin;                                                                                    \
            for (; i + 8 <= walk.end; i += 8) {                                                                        \
                const float16x8_t left = a_step ? vld1q_f16(a + i) : vld1q_dup_f16(a);                                 \
                const float16x8_t right = b_step ? vld1q_f16(b + i) : vld1q_dup_f16(b);                                \
                vst1q_f16(y + i, vminq_f16(vmaxq_f16(function(left, right), low), high));                              \
            }                                                                                                          \
            for (; i < walk.end; i++) {                                                                                \
                const float16x8_t left = vld1q_dup_f16(a + i * a_step), right = vld1q_dup_f16(b + i * b_step);         \
                vst1q_lane_f16(y + i, vminq_f16(vmaxq_f16(function(left, right), low), high), 0);                      \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add, vaddq_f16)
BINARY(sub, vsubq_f16)
BINARY(mul, vmulq_f16)
