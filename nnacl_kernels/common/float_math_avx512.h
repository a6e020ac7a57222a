/* SPDX-License-Identifier: Apache-2.0 */
/* float_math.h for sixteen values at a time: the same approximations, with fused multiply-adds and reciprocals that are
 * estimated and refined. Not the same bits; errors of a few ulp. */
#ifndef NNACL_FLOAT_MATH_AVX512_H
#define NNACL_FLOAT_MATH_AVX512_H

#include <immintrin.h>

#include "nnacl_base.h"

/* sum * x + term */
static inline __m512 nnacl_step_avx512(__m512 sum, __m512 x, float term) {
    return _mm512_fmadd_ps(sum, x, _mm512_set1_ps(term));
}

/* x < 0 ? -value : value */
static inline __m512 nnacl_sign_like_avx512(__m512 value, __m512 x) {
    return _mm512_mask_xor_ps(value, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), value,
                              _mm512_set1_ps(-0.0f));
}

/* 1 / x for 1 <= x < 2^126. */
static inline __m512 nnacl_inverse_avx512(__m512 x) {
    const __m512 guess = _mm512_rcp14_ps(x);
    const __m512 error = _mm512_fnmadd_ps(x, guess, _mm512_set1_ps(1.0f));
    return _mm512_fmadd_ps(guess, error, guess);
}

/* nnacl_expf() for x between -104 and 89, or NaN. */
static inline __m512 nnacl_exp_within_avx512(__m512 x) {
    const __m512 whole = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
    __m512 r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fmadd_ps(whole, _mm512_set1_ps(0.00021219444f), r);
    __m512 p = _mm512_set1_ps(0.00139262681f);
    p = nnacl_step_avx512(p, r, 0.00836324667f);
    p = nnacl_step_avx512(p, r, 0.0416665541f);
    p = nnacl_step_avx512(p, r, 0.166665766f);
    p = nnacl_step_avx512(p, r, 0.5f);
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
    return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0f)), whole);
}

/* nnacl_expf(); the operands stand so that NaN passes. */
static inline __m512 nnacl_exp_avx512(__m512 x) {
    x = _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-104.0f), x));
    return nnacl_exp_within_avx512(x);
}

/* 1 / (1 + e^-x), 0 below -88. */
static inline __m512 nnacl_sigmoid_avx512(__m512 x) {
    const __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-88.0f), _CMP_NLT_UQ);
    const __m512 least = _mm512_max_ps(_mm512_set1_ps(-87.0f), x);
    const __m512 negative = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_min_ps(_mm512_set1_ps(104.0f), least));
    const __m512 sum = _mm512_add_ps(nnacl_exp_within_avx512(negative), _mm512_set1_ps(1.0f));
    return _mm512_maskz_mov_ps(some, nnacl_inverse_avx512(sum));
}

/* nnacl_tanhf() */
static inline __m512 nnacl_tanh_avx512(__m512 x) {
    const __m512 a = _mm512_abs_ps(x), one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f), z = _mm512_mul_ps(x, x);
    __m512 p = _mm512_set1_ps(0.00229274481f);
    p = nnacl_step_avx512(p, z, -0.00834394551f);
    p = nnacl_step_avx512(p, z, 0.0217689186f);
    p = nnacl_step_avx512(p, z, -0.0539592596f);
    p = nnacl_step_avx512(p, z, 0.133333036f);
    p = nnacl_step_avx512(p, z, -0.333333332f);
    const __m512 near = _mm512_fmadd_ps(_mm512_mul_ps(p, z), x, x);
    const __m512 bounded = _mm512_min_ps(_mm512_set1_ps(40.0f), _mm512_mul_ps(two, a));
    const __m512 inverse = nnacl_inverse_avx512(_mm512_add_ps(nnacl_exp_within_avx512(bounded), one));
    const __m512 far = nnacl_sign_like_avx512(_mm512_fnmadd_ps(two, inverse, one), x);
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_set1_ps(0.625f), _CMP_LT_OQ), far, near);
}

/* nnacl_erff() */
static inline __m512 nnacl_erf_avx512(__m512 x) {
    const __m512 a = _mm512_abs_ps(x), z = _mm512_mul_ps(x, x);
    __m512 p = _mm512_set1_ps(8.6903689e-05f);
    p = nnacl_step_avx512(p, z, -0.000821457089f);
    p = nnacl_step_avx512(p, z, 0.00520704891f);
    p = nnacl_step_avx512(p, z, -0.0268617058f);
    p = nnacl_step_avx512(p, z, 0.112837352f);
    p = nnacl_step_avx512(p, z, -0.376126362f);
    p = nnacl_step_avx512(p, z, 0.128379167f);
    const __m512 near = _mm512_fmadd_ps(p, x, x);
    const __m512 b = _mm512_min_ps(_mm512_set1_ps(4.0f), a);
    __m512 q = _mm512_set1_ps(1.6411144e-06f);
    q = nnacl_step_avx512(q, b, -4.61192284e-05f);
    q = nnacl_step_avx512(q, b, 0.000597151543f);
    q = nnacl_step_avx512(q, b, -0.00476028572f);
    q = nnacl_step_avx512(q, b, 0.0264200154f);
    q = nnacl_step_avx512(q, b, -0.110071846f);
    q = nnacl_step_avx512(q, b, -0.631842422f);
    q = nnacl_step_avx512(q, b, -1.13021881f);
    q = nnacl_step_avx512(q, b, 0.00031515415f);
    const __m512 far = nnacl_sign_like_avx512(_mm512_sub_ps(_mm512_set1_ps(1.0f), nnacl_exp_within_avx512(q)), x);
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_set1_ps(0.875f), _CMP_LT_OQ), far, near);
}

#endif
