/* SPDX-License-Identifier: Apache-2.0 */
#include "common/float_math_avx2.h"
#include "elementwise/simple_f32_avx2.h"

static inline __m256 one(void) {
    return _mm256_set1_ps(1.0f);
}

static inline __m256 half(void) {
    return _mm256_set1_ps(0.5f);
}

static inline __m256 negative(__m256 v) {
    return _mm256_xor_ps(v, _mm256_set1_ps(-0.0f));
}

static inline __m256 sigmoid(__m256 v) {
    return _mm256_div_ps(one(), _mm256_add_ps(one(), nnacl_exp_avx2(negative(v))));
}

static inline __m256 gelu_erf(__m256 v) {
    const __m256 erf = nnacl_erf_avx2(_mm256_mul_ps(v, _mm256_set1_ps(0.707106781f)));
    return _mm256_mul_ps(_mm256_mul_ps(half(), v), _mm256_add_ps(one(), erf));
}

static inline __m256 gelu_tanh(__m256 v) {
    const __m256 cube = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(0.044715f), v), v), v);
    const __m256 tanh = nnacl_tanh_avx2(_mm256_mul_ps(_mm256_set1_ps(0.797884561f), _mm256_add_ps(v, cube)));
    return _mm256_mul_ps(_mm256_mul_ps(half(), v), _mm256_add_ps(one(), tanh));
}

#define UNARY(op, expression) NNACL_UNARY_KERNEL_AVX2(nnacl_##op##_f32_avx2, expression)

NNACL_SIMPLE_UNARY_AVX2(UNARY)
UNARY(floor, _mm256_floor_ps(v))
UNARY(ceil, _mm256_ceil_ps(v))
UNARY(round, _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
UNARY(sigmoid, sigmoid(v))
UNARY(silu, _mm256_mul_ps(v, sigmoid(v)))
UNARY(tanh, nnacl_tanh_avx2(v))
UNARY(exp, nnacl_exp_avx2(v))
UNARY(erf, nnacl_erf_avx2(v))
UNARY(gelu, p->alpha != 0.0f ? gelu_tanh(v) : gelu_erf(v))
UNARY(elu, nnacl_where_negative_avx2(v, _mm256_mul_ps(alpha, nnacl_expm1_avx2(v))))
