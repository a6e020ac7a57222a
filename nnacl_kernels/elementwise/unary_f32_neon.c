/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that compilers make no vectors of: they need an elementary function. */
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
        for (int32_t i = share.begin; i < share.end; i += LANES) {                                                     \
            const vector v = load(x + i, share.end - i);                                                               \
            store(y + i, share.end - i, expression);                                                                   \
        }                                                                                                              \
    }

vector_inline vector error_function(vector v) {
    return (vector){nnacl_erf_neon(v.low), nnacl_erf_neon(v.high)};
}

vector_inline vector gelu_erf(vector v) {
    return mul(mul(spread(0.5f), v), add(spread(1.0f), error_function(mul(v, spread(0.707106781f)))));
}

vector_inline vector gelu_tanh(vector v) {
    const vector cube = mul(mul(mul(spread(0.044715f), v), v), v);
    const vector tanh = hyperbolic_tangent(mul(spread(0.797884561f), add(v, cube)));
    return mul(mul(spread(0.5f), v), add(spread(1.0f), tanh));
}

static inline float32x4_t elu_four(float32x4_t v, float alpha) {
    return vbslq_f32(vcltzq_f32(v), vmulq_f32(vdupq_n_f32(alpha), nnacl_expm1_neon(v)), v);
}

UNARY(sigmoid, sigmoid(v))
UNARY(silu, mul(v, sigmoid(v)))
UNARY(tanh, hyperbolic_tangent(v))
UNARY(exp, exponential(v))
UNARY(erf, error_function(v))
UNARY(gelu, p->alpha != 0.0f ? gelu_tanh(v) : gelu_erf(v))
UNARY(elu, ((vector){elu_four(v.low, p->alpha), elu_four(v.high, p->alpha)}))
