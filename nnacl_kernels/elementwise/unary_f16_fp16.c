/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of which each step rounds in f16. */
#include <arm_neon.h>

#include "common/share.h"
#include "elementwise/elementwise.h"

/* `expression` computes a vector of y from a vector v, and vectors `low` and `high` of alpha and beta. The last
 * elements that do not fill a vector go through a copy. */
#define UNARY(op, expression)                                                                                          \
    static inline float16x8_t op##_vector(float16x8_t v, float16x8_t low, float16x8_t high) {                          \
        (void)low;                                                                                                     \
        (void)high;                                                                                                    \
        return expression;                                                                                             \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_##op##_f16_fp16);                                                                              \
    void nnacl_##op##_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {  \
        const nnacl_unary_params *p = params;                                                                          \
        const float16_t *x = in[0];                                                                                    \
        float16_t *y = out[0];                                                                                         \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        const float16x8_t low = vdupq_n_f16((float16_t)p->alpha), high = vdupq_n_f16((float16_t)p->beta);              \
        int32_t i = share.begin;                                                                                       \
        for (; i + 8 <= share.end; i += 8) {                                                                           \
            vst1q_f16(y + i, op##_vector(vld1q_f16(x + i), low, high));                                                \
        }                                                                                                              \
        for (; i < share.end; i++) {                                                                                   \
            vst1q_lane_f16(y + i, op##_vector(vld1q_dup_f16(x + i), low, high), 0);                                    \
        }                                                                                                              \
    }

static inline float16x8_t clamp(float16x8_t v, float16x8_t low, float16x8_t high) {
    return vminq_f16(vmaxq_f16(v, low), high);
}

UNARY(relu, vmaxq_f16(v, vdupq_n_f16(0)))
UNARY(clip, clamp(v, low, high))
/* The division in f32 would round once; here v times a rounded sixth of the clamp. */
UNARY(hard_swish, vmulq_f16(v, vmulq_f16(clamp(vaddq_f16(v, vdupq_n_f16(3)), vdupq_n_f16(0), vdupq_n_f16(6)),
                                         vdupq_n_f16((float16_t)(1.0f / 6.0f)))))
