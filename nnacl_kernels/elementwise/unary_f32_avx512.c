/* SPDX-License-Identifier: Apache-2.0 */
/* The functions whose arithmetic takes longer than memory; for the others AVX2 is enough. */
#include "common/float_math_avx512.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

static inline __m512 one(void) {
    return _mm512_set1_ps(1.0f);
}

static inline __m512 gelu_erf(__m512 v) {
    const __m512 half = _mm512_mul_ps(_mm512_set1_ps(0.5f), v);
    return _mm512_fmadd_ps(half, nnacl_erf_avx512(_mm512_mul_ps(v, _mm512_set1_ps(0.707106781f))), half);
}

static inline __m512 gelu_tanh(__m512 v) {
    const __m512 half = _mm512_mul_ps(_mm512_set1_ps(0.5f), v);
    const __m512 cube = _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(0.044715f), v), v), v);
    const __m512 inner = _mm512_mul_ps(_mm512_set1_ps(0.797884561f), _mm512_add_ps(v, cube));
    return _mm512_fmadd_ps(half, nnacl_tanh_avx512(inner), half);
}

static inline __m512 clamp(__m512 value, __m512 low, __m512 high) {
    return _mm512_min_ps(high, _mm512_max_ps(low, value));
}

static inline __m512 hard_swish(__m512 v) {
    const __m512 six = _mm512_set1_ps(6.0f);
    const __m512 inner = clamp(_mm512_add_ps(v, _mm512_set1_ps(3.0f)), _mm512_setzero_ps(), six);
    return _mm512_mul_ps(_mm512_mul_ps(v, inner), _mm512_set1_ps(0.166666672f));
}

/* As NNACL_UNARY_KERNEL; `expression` computes sixteen y from v, alpha and beta. */
#define UNARY(op, expression)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f32_avx512);                                                                            \
    void nnacl_##op##_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],                     \
                                 void *const out[]) {                                                                  \
        const nnacl_unary_params *p = params;                                                                          \
        const float *x = in[0];                                                                                        \
        float *y = out[0];                                                                                             \
        const __m512 alpha = _mm512_set1_ps(p->alpha), beta = _mm512_set1_ps(p->beta);                                 \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        int32_t i = share.begin;                                                                                       \
        for (; i + 16 <= share.end; i += 16) {                                                                         \
            const __m512 v = _mm512_loadu_ps(x + i);                                                                   \
            _mm512_storeu_ps(y + i, expression);                                                                       \
        }                                                                                                              \
        if (i < share.end) {                                                                                           \
            const __mmask16 lanes = (__mmask16)((1u << (share.end - i)) - 1u);                                         \
            const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);                                                      \
            _mm512_mask_storeu_ps(y + i, lanes, expression);                                                           \
        }                                                                                                              \
    }

UNARY(hard_sigmoid, clamp(_mm512_fmadd_ps(alpha, v, beta), _mm512_setzero_ps(), one()))
UNARY(hard_swish, hard_swish(v))
UNARY(sigmoid, nnacl_sigmoid_avx512(v))
UNARY(silu, _mm512_mul_ps(v, nnacl_sigmoid_avx512(v)))
UNARY(tanh, nnacl_tanh_avx512(v))
UNARY(exp, nnacl_exp_avx512(v))
UNARY(erf, nnacl_erf_avx512(v))
UNARY(gelu, p->alpha != 0.0f ? gelu_tanh(v) : gelu_erf(v))
