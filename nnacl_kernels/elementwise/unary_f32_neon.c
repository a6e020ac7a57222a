/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that compilers make no vectors of, because they need an elementary function, or longer code. */
#include "common/share.h"
#include "common/vector_f32_neon.h"
#include "elementwise/elementwise.h"

/* `expression` computes eight y from v and the parameters p. */
#define UNARY(op, expression)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f32_neon);                                                                              \
    void nnacl_##op##_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {  \
        const nnacl_unary_params *p = params;                                                                          \
        const float *x = in[0];                                                                                        \
        float *y = out[0];                                                                                             \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        int32_t i = share.begin;                                                                                       \
        for (; i + LANES <= share.end; i += LANES) {                                                                   \
            const vector v = load_all(x + i);                                                                          \
            store_all(y + i, expression);                                                                              \
        }                                                                                                              \
        if (i < share.end) {                                                                                           \
            const vector v = load(x + i, share.end - i);                                                               \
            store(y + i, share.end - i, expression);                                                                   \
        }                                                                                                              \
    }

NNACL_ALWAYS_INLINE vector error_function(vector v) {
    return (vector){nnacl_erf_neon(v.low), nnacl_erf_neon(v.high)};
}

NNACL_ALWAYS_INLINE vector gelu_erf(vector v) {
    return mul(mul(spread(0.5f), v), add(spread(1.0f), error_function(mul(v, spread(0.707106781f)))));
}

NNACL_ALWAYS_INLINE vector gelu_tanh(vector v) {
    const vector cube = mul(mul(mul(spread(0.044715f), v), v), v);
    const vector tanh = hyperbolic_tangent(mul(spread(0.797884561f), add(v, cube)));
    return mul(mul(spread(0.5f), v), add(spread(1.0f), tanh));
}

static inline float32x4_t elu_four(float32x4_t v, float alpha) {
    return vbslq_f32(vcltzq_f32(v), vmulq_f32(vdupq_n_f32(alpha), nnacl_expm1_neon(v)), v);
}

/* v < 0 ? below : v */
static inline float32x4_t where_negative(float32x4_t v, float32x4_t below) {
    return vbslq_f32(vcltzq_f32(v), below, v);
}

NNACL_ALWAYS_INLINE vector rectified(vector v) {
    const float32x4_t zero = vdupq_n_f32(0.0f);
    return (vector){where_negative(v.low, zero), where_negative(v.high, zero)};
}

NNACL_ALWAYS_INLINE vector leaky(vector v, float alpha) {
    const vector below = mul(v, spread(alpha));
    return (vector){where_negative(v.low, below.low), where_negative(v.high, below.high)};
}

NNACL_ALWAYS_INLINE vector zero_to(vector v, float most) {
    return clamp(v, spread(0.0f), spread(most));
}

UNARY(relu, rectified(v))
UNARY(leaky_relu, leaky(v, p->alpha))
UNARY(clip, clamp(v, spread(p->alpha), spread(p->beta)))
UNARY(hard_sigmoid, zero_to(add(mul(spread(p->alpha), v), spread(p->beta)), 1.0f))
UNARY(hard_swish, divide(mul(v, zero_to(add(v, spread(3.0f)), 6.0f)), spread(6.0f)))
UNARY(sigmoid, sigmoid(v))
UNARY(silu, mul(v, sigmoid(v)))
UNARY(tanh, hyperbolic_tangent(v))
UNARY(exp, exponential(v))
UNARY(erf, error_function(v))
UNARY(gelu, p->alpha != 0.0f ? gelu_tanh(v) : gelu_erf(v))
UNARY(elu, ((vector){elu_four(v.low, p->alpha), elu_four(v.high, p->alpha)}))
