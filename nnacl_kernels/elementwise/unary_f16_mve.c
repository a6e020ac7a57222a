/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of which each step rounds in f16. */
#include "common/share.h"
#include "common/vector_f16_mve.h"
#include "elementwise/elementwise.h"

/* `expression` computes a vector of y from a vector v, and vectors `low` and `high` of alpha and beta. */
#define UNARY(op, expression)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f16_mve);                                                                               \
    void nnacl_##op##_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const nnacl_unary_params *p = params;                                                                          \
        const float16_t *x = in[0];                                                                                    \
        float16_t *y = out[0];                                                                                         \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        const float16x8_t low = vdupq_n_f16((float16_t)p->alpha), high = vdupq_n_f16((float16_t)p->beta);              \
        (void)low;                                                                                                     \
        (void)high;                                                                                                    \
        for (int32_t i = share.begin; i < share.end; i += 8) {                                                         \
            const mve_pred16_t wanted = vctp16q((uint32_t)(share.end - i));                                            \
            const float16x8_t v = vldrhq_z_f16(x + i, wanted);                                                         \
            vstrhq_p_f16(y + i, expression, wanted);                                                                   \
        }                                                                                                              \
    }

NNACL_ALWAYS_INLINE float16x8_t relu(float16x8_t v) {
    const float16x8_t zero = vdupq_n_f16(0);
    return vpselq_f16(zero, v, vcmpgtq_f16(zero, v));
}

/* v times a rounded sixth of the clamp. */
NNACL_ALWAYS_INLINE float16x8_t hard_swish(float16x8_t v) {
    const float16x8_t gate =
        nnacl_clamp_f16(vaddq_f16(v, vdupq_n_f16(3)), vdupq_n_f16(0), vdupq_n_f16((float16_t)6.0f));
    return vmulq_f16(v, vmulq_f16(gate, vdupq_n_f16((float16_t)(1.0f / 6.0f))));
}

UNARY(relu, relu(v))
UNARY(clip, nnacl_clamp_f16(v, low, high))
UNARY(hard_swish, hard_swish(v))
