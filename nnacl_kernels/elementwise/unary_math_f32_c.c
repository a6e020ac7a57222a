/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions that need an elementary function. */
#include "common/float_math.h"
#include "elementwise/unary.h"

static inline float sigmoid(float v) {
    return 1.0f / (1.0f + nnacl_expf(-v));
}

static inline float gelu_erf(float v) {
    return 0.5f * v * (1.0f + nnacl_erff(v * 0.707106781f));
}

static inline float gelu_tanh(float v) {
    return 0.5f * v * (1.0f + nnacl_tanhf(0.797884561f * (v + 0.044715f * v * v * v)));
}

static inline float softplus(float v) {
    return (v > 0.0f ? v : 0.0f) + nnacl_log1pf(nnacl_expf(v > 0.0f ? -v : v));
}

#define UNARY(op, expression) NNACL_UNARY_KERNEL(nnacl_##op##_f32_c, float, expression)

UNARY(sigmoid, sigmoid(v))
UNARY(silu, (v * sigmoid(v)))
UNARY(tanh, nnacl_tanhf(v))
UNARY(exp, nnacl_expf(v))
UNARY(log, nnacl_logf(v))
UNARY(sin, nnacl_sinf(v))
UNARY(cos, nnacl_cosf(v))
UNARY(erf, nnacl_erff(v))
UNARY(gelu, alpha != 0.0f ? gelu_tanh(v) : gelu_erf(v))
UNARY(softplus, softplus(v))
UNARY(elu, v < 0.0f ? alpha * nnacl_expm1f(v) : v)
