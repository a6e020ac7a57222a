/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/vectors_avx2.h"

/* NaN in either operand is the result: the instruction gives b when one is NaN. */
static inline __m256 pass_nan(__m256 a, __m256 result) {
    return _mm256_blendv_ps(result, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

static inline __m256 prelu(__m256 a, __m256 b) {
    const __m256 positive = _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GT_OQ);
    return _mm256_blendv_ps(_mm256_mul_ps(a, b), a, positive);
}

static inline __m256 square(__m256 v) {
    return _mm256_mul_ps(v, v);
}

#define BINARY(op, expression) NNACL_BINARY_KERNEL_AVX2(nnacl_##op##_f32_avx2, expression)

BINARY(add, _mm256_add_ps(a, b))
BINARY(sub, _mm256_sub_ps(a, b))
BINARY(mul, _mm256_mul_ps(a, b))
BINARY(div, _mm256_div_ps(a, b))
BINARY(max, pass_nan(a, _mm256_max_ps(a, b)))
BINARY(min, pass_nan(a, _mm256_min_ps(a, b)))
BINARY(squared_difference, square(_mm256_sub_ps(a, b)))
BINARY(prelu, prelu(a, b))
