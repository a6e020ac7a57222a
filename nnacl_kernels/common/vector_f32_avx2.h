/* SPDX-License-Identifier: Apache-2.0 */
/* vector_f32_avx512.h for AVX2. */
#ifndef NNACL_VECTOR_F32_AVX2_H
#define NNACL_VECTOR_F32_AVX2_H

#include "common/float_math_avx2.h"
#include "common/lanes_avx2.h"

#define LANES 8

typedef __m256 vector;
typedef int32_t vector_lanes;

NNACL_ALWAYS_INLINE vector_lanes lanes_of(int32_t count) {
    return count;
}

NNACL_ALWAYS_INLINE vector load(const float *from, vector_lanes lanes) {
    return lanes >= LANES ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, nnacl_lanes_avx2(lanes));
}

NNACL_ALWAYS_INLINE vector load_or(const float *from, vector_lanes lanes, vector other) {
    return lanes >= LANES ? _mm256_loadu_ps(from)
                          : _mm256_blendv_ps(other, _mm256_maskload_ps(from, nnacl_lanes_avx2(lanes)),
                                             _mm256_castsi256_ps(nnacl_lanes_avx2(lanes)));
}

NNACL_ALWAYS_INLINE void store(float *to, vector_lanes lanes, vector v) {
    if (lanes >= LANES) {
        _mm256_storeu_ps(to, v);
    } else {
        _mm256_maskstore_ps(to, nnacl_lanes_avx2(lanes), v);
    }
}

NNACL_ALWAYS_INLINE vector load_all(const float *from) {
    return _mm256_loadu_ps(from);
}

NNACL_ALWAYS_INLINE void store_all(float *to, vector v) {
    _mm256_storeu_ps(to, v);
}

/* In a register from here on: otherwise gcc reads again what several instructions use. */
NNACL_ALWAYS_INLINE vector hold(vector v) {
    __asm__("" : "+x"(v));
    return v;
}

NNACL_ALWAYS_INLINE vector spread(float x) {
    return _mm256_set1_ps(x);
}

NNACL_ALWAYS_INLINE vector add(vector a, vector b) {
    return _mm256_add_ps(a, b);
}

NNACL_ALWAYS_INLINE vector sub(vector a, vector b) {
    return _mm256_sub_ps(a, b);
}

NNACL_ALWAYS_INLINE vector mul(vector a, vector b) {
    return _mm256_mul_ps(a, b);
}

NNACL_ALWAYS_INLINE vector madd(vector a, vector b, vector c) {
    return _mm256_fmadd_ps(a, b, c);
}

NNACL_ALWAYS_INLINE vector larger(vector a, vector b) {
    return _mm256_max_ps(a, b);
}

/* b where a is NaN */
NNACL_ALWAYS_INLINE vector larger_number(vector a, vector b) {
    return larger(a, b);
}

NNACL_ALWAYS_INLINE vector divide(vector a, vector b) {
    return _mm256_div_ps(a, b);
}

NNACL_ALWAYS_INLINE vector clamp(vector v, vector low, vector high) {
    return _mm256_min_ps(high, _mm256_max_ps(low, v));
}

NNACL_ALWAYS_INLINE float largest_lane(vector v) {
    v = _mm256_max_ps(v, _mm256_permute2f128_ps(v, v, 1));
    v = _mm256_max_ps(v, _mm256_permute_ps(v, 0x4e));
    return _mm256_cvtss_f32(_mm256_max_ps(v, _mm256_permute_ps(v, 0xb1)));
}

NNACL_ALWAYS_INLINE float sum_of_lanes(vector v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

NNACL_ALWAYS_INLINE vector exponential(vector v) {
    return nnacl_exp_avx2(v);
}

NNACL_ALWAYS_INLINE vector sigmoid(vector v) {
    const __m256 one = _mm256_set1_ps(1.0f);
    return _mm256_div_ps(one, _mm256_add_ps(one, nnacl_exp_avx2(_mm256_xor_ps(v, _mm256_set1_ps(-0.0f)))));
}

NNACL_ALWAYS_INLINE vector hyperbolic_tangent(vector v) {
    return nnacl_tanh_avx2(v);
}

#endif
