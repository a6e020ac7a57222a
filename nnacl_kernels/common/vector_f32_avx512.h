/* SPDX-License-Identifier: Apache-2.0 */
/* One of the vectors that kernels are written for that exist for several instruction sets (vector_f32_avx2.h is the
 * other). Such a kernel is a header; the file of an instruction set includes its vector before it. */
#ifndef NNACL_VECTOR_F32_AVX512_H
#define NNACL_VECTOR_F32_AVX512_H

#include "common/float_math_avx512.h"

#define LANES 16

typedef __m512 vector;
/* Lanes that count: the others are read as 0, and not written. */
typedef __mmask16 vector_lanes;

/* Lanes 0 .. count - 1; count may be negative or above LANES. */
NNACL_ALWAYS_INLINE vector_lanes lanes_of(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << (count > 0 ? count : 0)) - 1u);
}

NNACL_ALWAYS_INLINE vector load(const float *from, vector_lanes lanes) {
    return _mm512_maskz_loadu_ps(lanes, from);
}

/* `other` in the lanes that do not count. */
NNACL_ALWAYS_INLINE vector load_or(const float *from, vector_lanes lanes, vector other) {
    return _mm512_mask_loadu_ps(other, lanes, from);
}

NNACL_ALWAYS_INLINE void store(float *to, vector_lanes lanes, vector v) {
    _mm512_mask_storeu_ps(to, lanes, v);
}

NNACL_ALWAYS_INLINE vector load_all(const float *from) {
    return _mm512_loadu_ps(from);
}

NNACL_ALWAYS_INLINE void store_all(float *to, vector v) {
    _mm512_storeu_ps(to, v);
}

/* In a register from here on: otherwise gcc reads again what several instructions use. */
NNACL_ALWAYS_INLINE vector hold(vector v) {
    __asm__("" : "+v"(v));
    return v;
}

NNACL_ALWAYS_INLINE vector spread(float x) {
    return _mm512_set1_ps(x);
}

NNACL_ALWAYS_INLINE vector add(vector a, vector b) {
    return _mm512_add_ps(a, b);
}

NNACL_ALWAYS_INLINE vector sub(vector a, vector b) {
    return _mm512_sub_ps(a, b);
}

NNACL_ALWAYS_INLINE vector mul(vector a, vector b) {
    return _mm512_mul_ps(a, b);
}

/* a * b + c */
NNACL_ALWAYS_INLINE vector madd(vector a, vector b, vector c) {
    return _mm512_fmadd_ps(a, b, c);
}

/* a > b ? a : b, so b where one is NaN. */
NNACL_ALWAYS_INLINE vector larger(vector a, vector b) {
    return _mm512_max_ps(a, b);
}

/* NaN stays. */
NNACL_ALWAYS_INLINE vector clamp(vector v, vector low, vector high) {
    return _mm512_min_ps(high, _mm512_max_ps(low, v));
}

NNACL_ALWAYS_INLINE float largest_lane(vector v) {
    return _mm512_reduce_max_ps(v);
}

NNACL_ALWAYS_INLINE float sum_of_lanes(vector v) {
    return _mm512_reduce_add_ps(v);
}

NNACL_ALWAYS_INLINE vector exponential(vector v) {
    return nnacl_exp_avx512(v);
}

NNACL_ALWAYS_INLINE vector sigmoid(vector v) {
    return nnacl_sigmoid_avx512(v);
}

NNACL_ALWAYS_INLINE vector hyperbolic_tangent(vector v) {
    return nnacl_tanh_avx512(v);
}

#endif
