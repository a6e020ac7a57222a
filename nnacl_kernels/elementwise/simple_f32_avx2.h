/* SPDX-License-Identifier: Apache-2.0 */
/* As simple_f32.h, over vectors of eight. */
#ifndef NNACL_SIMPLE_F32_AVX2_H
#define NNACL_SIMPLE_F32_AVX2_H

#include "elementwise/vectors_avx2.h"

/* NaN in either operand is the result: the instruction gives b when one is NaN. */
static inline __m256 nnacl_pass_nan_avx2(__m256 a, __m256 result) {
    return _mm256_blendv_ps(result, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

static inline __m256 nnacl_prelu_avx2(__m256 a, __m256 b) {
    const __m256 positive = _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GT_OQ);
    return _mm256_blendv_ps(_mm256_mul_ps(a, b), a, positive);
}

static inline __m256 nnacl_square_avx2(__m256 v) {
    return _mm256_mul_ps(v, v);
}

/* v < 0 ? below : v */
static inline __m256 nnacl_where_negative_avx2(__m256 v, __m256 below) {
    return _mm256_blendv_ps(v, below, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ));
}

static inline __m256 nnacl_hard_swish_avx2(__m256 v) {
    const __m256 six = _mm256_set1_ps(6.0f);
    const __m256 shifted = _mm256_add_ps(v, _mm256_set1_ps(3.0f));
    return _mm256_div_ps(_mm256_mul_ps(v, nnacl_clamp_avx2(shifted, _mm256_setzero_ps(), six)), six);
}

static inline __m256 nnacl_hard_sigmoid_avx2(__m256 v, __m256 alpha, __m256 beta) {
    const __m256 line = _mm256_add_ps(_mm256_mul_ps(alpha, v), beta);
    return nnacl_clamp_avx2(line, _mm256_setzero_ps(), _mm256_set1_ps(1.0f));
}

/* Those that have kernels for AVX2. */
#define NNACL_SIMPLE_UNARY_AVX2(NNACL_SIMPLE)                                                                          \
    NNACL_SIMPLE(relu, _mm256_max_ps(_mm256_setzero_ps(), v))                                                          \
    NNACL_SIMPLE(leaky_relu, nnacl_where_negative_avx2(v, _mm256_mul_ps(v, alpha)))                                    \
    NNACL_SIMPLE(clip, nnacl_clamp_avx2(v, alpha, beta))                                                               \
    NNACL_SIMPLE(hard_sigmoid, nnacl_hard_sigmoid_avx2(v, alpha, beta))                                                \
    NNACL_SIMPLE(hard_swish, nnacl_hard_swish_avx2(v))                                                                 \
    NNACL_SIMPLE(sqrt, _mm256_sqrt_ps(v))                                                                              \
    NNACL_SIMPLE(rsqrt, _mm256_div_ps(_mm256_set1_ps(1.0f), _mm256_sqrt_ps(v)))                                        \
    NNACL_SIMPLE(reciprocal, _mm256_div_ps(_mm256_set1_ps(1.0f), v))

/* Those for which a compiler makes vectors of the C kernels; the same bits. */
#define NNACL_SIMPLE_UNARY_PLAIN_AVX2(NNACL_SIMPLE)                                                                    \
    NNACL_SIMPLE(neg, _mm256_xor_ps(v, _mm256_set1_ps(-0.0f)))                                                         \
    NNACL_SIMPLE(abs, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v))                                                      \
    NNACL_SIMPLE(square, _mm256_mul_ps(v, v))

#define NNACL_SIMPLE_BINARY_AVX2(NNACL_SIMPLE)                                                                         \
    NNACL_SIMPLE(add, _mm256_add_ps(a, b))                                                                             \
    NNACL_SIMPLE(sub, _mm256_sub_ps(a, b))                                                                             \
    NNACL_SIMPLE(mul, _mm256_mul_ps(a, b))                                                                             \
    NNACL_SIMPLE(div, _mm256_div_ps(a, b))                                                                             \
    NNACL_SIMPLE(max, nnacl_pass_nan_avx2(a, _mm256_max_ps(a, b)))                                                     \
    NNACL_SIMPLE(min, nnacl_pass_nan_avx2(a, _mm256_min_ps(a, b)))                                                     \
    NNACL_SIMPLE(squared_difference, nnacl_square_avx2(_mm256_sub_ps(a, b)))                                           \
    NNACL_SIMPLE(prelu, nnacl_prelu_avx2(a, b))

#endif
