/* SPDX-License-Identifier: Apache-2.0 */
/* float_math.h for eight values at a time: the same operations in the same order, so the same bits. */
#ifndef NNACL_FLOAT_MATH_AVX2_H
#define NNACL_FLOAT_MATH_AVX2_H

#include <immintrin.h>

#include "nnacl_base.h"

/* sum * x + term, rounded twice as everywhere here. */
static inline __m256 nnacl_step_avx2(__m256 sum, __m256 x, float term) {
    return _mm256_add_ps(_mm256_mul_ps(sum, x), _mm256_set1_ps(term));
}

static inline __m256 nnacl_abs_avx2(__m256 x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* x < 0 ? -value : value */
static inline __m256 nnacl_sign_like_avx2(__m256 value, __m256 x) {
    const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    return _mm256_xor_ps(value, _mm256_and_ps(negative, _mm256_set1_ps(-0.0f)));
}

/* value * 2^exponent, rounded once; nnacl_scale_f32(). */
static inline __m256 nnacl_scale_avx2(__m256 value, __m256i exponent) {
    const __m256i bias = _mm256_set1_epi32(127);
    /* exponent / 2 towards zero */
    const __m256i half = _mm256_srai_epi32(_mm256_sub_epi32(exponent, _mm256_srai_epi32(exponent, 31)), 1);
    const __m256i rest = _mm256_sub_epi32(exponent, half);
    value = _mm256_mul_ps(value, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)));
    return _mm256_mul_ps(value, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23)));
}

/* nnacl_expf() */
static inline __m256 nnacl_exp_avx2(__m256 x) {
    const __m256 magic = _mm256_set1_ps(12582912.0f);
    const __m256 one = _mm256_set1_ps(1.0f);
    /* The operands stand so that NaN passes. */
    x = _mm256_max_ps(_mm256_set1_ps(-104.0f), x);
    x = _mm256_min_ps(_mm256_set1_ps(89.0f), x);
    const __m256 whole = _mm256_sub_ps(nnacl_step_avx2(x, _mm256_set1_ps(1.44269504f), 12582912.0f), magic);
    __m256 r = _mm256_sub_ps(x, _mm256_mul_ps(whole, _mm256_set1_ps(0.693359375f)));
    r = _mm256_sub_ps(r, _mm256_mul_ps(whole, _mm256_set1_ps(-0.00021219444f)));
    __m256 p = _mm256_set1_ps(0.00139262681f);
    p = nnacl_step_avx2(p, r, 0.00836324667f);
    p = nnacl_step_avx2(p, r, 0.0416665541f);
    p = nnacl_step_avx2(p, r, 0.166665766f);
    p = nnacl_step_avx2(p, r, 0.5f);
    const __m256 result = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(p, _mm256_mul_ps(r, r)), r), one);
    const __m256i ordered = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_EQ_OQ));
    return nnacl_scale_avx2(result, _mm256_and_si256(_mm256_cvttps_epi32(whole), ordered));
}

/* nnacl_expm1f() */
static inline __m256 nnacl_expm1_avx2(__m256 x) {
    __m256 p = _mm256_set1_ps(2.49224364e-05f);
    p = nnacl_step_avx2(p, x, 0.000199621762f);
    p = nnacl_step_avx2(p, x, 0.00138887377f);
    p = nnacl_step_avx2(p, x, 0.00833318207f);
    p = nnacl_step_avx2(p, x, 0.0416666671f);
    p = nnacl_step_avx2(p, x, 0.166666671f);
    p = nnacl_step_avx2(p, x, 0.5f);
    const __m256 near = _mm256_add_ps(_mm256_mul_ps(p, _mm256_mul_ps(x, x)), x);
    const __m256 far = _mm256_sub_ps(nnacl_exp_avx2(x), _mm256_set1_ps(1.0f));
    return _mm256_blendv_ps(far, near, _mm256_cmp_ps(nnacl_abs_avx2(x), _mm256_set1_ps(0.5f), _CMP_LT_OQ));
}

/* nnacl_tanhf() */
static inline __m256 nnacl_tanh_avx2(__m256 x) {
    const __m256 a = nnacl_abs_avx2(x);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 two = _mm256_set1_ps(2.0f);
    const __m256 z = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(0.00229274481f);
    p = nnacl_step_avx2(p, z, -0.00834394551f);
    p = nnacl_step_avx2(p, z, 0.0217689186f);
    p = nnacl_step_avx2(p, z, -0.0539592596f);
    p = nnacl_step_avx2(p, z, 0.133333036f);
    p = nnacl_step_avx2(p, z, -0.333333332f);
    const __m256 near = _mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(p, z), x), x);
    const __m256 e = _mm256_add_ps(nnacl_exp_avx2(_mm256_mul_ps(two, a)), one);
    const __m256 far = nnacl_sign_like_avx2(_mm256_sub_ps(one, _mm256_div_ps(two, e)), x);
    const __m256 result = _mm256_blendv_ps(far, near, _mm256_cmp_ps(a, _mm256_set1_ps(0.625f), _CMP_LT_OQ));
    return _mm256_blendv_ps(result, x, _mm256_cmp_ps(a, _mm256_set1_ps(0.000244140625f), _CMP_LT_OQ));
}

/* nnacl_erff() */
static inline __m256 nnacl_erf_avx2(__m256 x) {
    const __m256 a = nnacl_abs_avx2(x);
    const __m256 z = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(8.6903689e-05f);
    p = nnacl_step_avx2(p, z, -0.000821457089f);
    p = nnacl_step_avx2(p, z, 0.00520704891f);
    p = nnacl_step_avx2(p, z, -0.0268617058f);
    p = nnacl_step_avx2(p, z, 0.112837352f);
    p = nnacl_step_avx2(p, z, -0.376126362f);
    p = nnacl_step_avx2(p, z, 0.128379167f);
    const __m256 near = _mm256_add_ps(_mm256_mul_ps(p, x), x);
    const __m256 b = _mm256_min_ps(_mm256_set1_ps(4.0f), a);
    __m256 q = _mm256_set1_ps(1.6411144e-06f);
    q = nnacl_step_avx2(q, b, -4.61192284e-05f);
    q = nnacl_step_avx2(q, b, 0.000597151543f);
    q = nnacl_step_avx2(q, b, -0.00476028572f);
    q = nnacl_step_avx2(q, b, 0.0264200154f);
    q = nnacl_step_avx2(q, b, -0.110071846f);
    q = nnacl_step_avx2(q, b, -0.631842422f);
    q = nnacl_step_avx2(q, b, -1.13021881f);
    q = nnacl_step_avx2(q, b, 0.00031515415f);
    const __m256 far = nnacl_sign_like_avx2(_mm256_sub_ps(_mm256_set1_ps(1.0f), nnacl_exp_avx2(q)), x);
    return _mm256_blendv_ps(far, near, _mm256_cmp_ps(a, _mm256_set1_ps(0.875f), _CMP_LT_OQ));
}

#endif
