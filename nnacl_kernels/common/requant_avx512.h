/* SPDX-License-Identifier: Apache-2.0 */
/* requant.h for sixteen channels at a time: the same integers for every argument. */
#ifndef NNACL_REQUANT_AVX512_H
#define NNACL_REQUANT_AVX512_H

#include <immintrin.h>

#include "nnacl_base.h"

/* Lanes 0 .. count - 1; count may be negative or above 16. */
static inline __mmask16 nnacl_lanes_s32_avx512(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << (count > 0 ? count : 0)) - 1u);
}

/* Times a scale up to this, no sum of 32 bits leaves them, with any zero point added. */
#define NNACL_SATURATING_SCALE 0.25f

/* What the requantization of up to 16 neighbouring channels knows; see nnacl_requant_channel(). */
typedef struct nnacl_requant_lanes {
    __m512i multiplier, shift; /* float-even: the scales, bit by bit, in `multiplier` */
    __mmask16 up;              /* channels under the contract nnacl_requant_double_up() */
    int32_t rounding, zero, low, high;
    bool saturates; /* float-even: no sum leaves 31 bits, and the clamp is that of a byte */
} nnacl_requant_lanes;

/* Of channels first .. first + count - 1 of `channels`. */
static inline nnacl_requant_lanes nnacl_requant_lanes_avx512(const void *requant, int32_t channels, int32_t first,
                                                             int32_t count, int32_t rounding, int32_t zero,
                                                             int32_t q_min, int32_t q_max) {
    const int32_t *row = (const int32_t *)requant + first;
    const __mmask16 lanes = nnacl_lanes_s32_avx512(count);
    const bool scales = rounding == NNACL_ROUND_FLOAT_EVEN;
    const int32_t up = rounding == NNACL_ROUND_TFLITE_UP        ? 16
                       : rounding == NNACL_ROUND_TFLITE_UP_BY_8 ? channels / 8 * 8 - first
                                                                : 0;
    const __m512i multiplier = _mm512_maskz_loadu_epi32(lanes, row);
    const __m512 scale = _mm512_abs_ps(_mm512_castsi512_ps(multiplier));
    const bool small = _mm512_cmp_ps_mask(scale, _mm512_set1_ps(NNACL_SATURATING_SCALE), _CMP_LE_OQ) == 0xffff;
    return (nnacl_requant_lanes){multiplier,
                                 scales ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi32(lanes, row + channels),
                                 nnacl_lanes_s32_avx512(up),
                                 rounding,
                                 zero,
                                 q_min - zero,
                                 q_max - zero,
                                 scales && small && q_min == INT8_MIN && q_max == INT8_MAX};
}

/* The low halves of `even` and of `odd`, in turn. */
static inline __m512i nnacl_interleave_avx512(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

/* nnacl_requant_double(), or nnacl_requant_double_up() in the lanes of `up`. */
static inline __m512i nnacl_requant_double_avx512(__m512i value, __m512i multiplier, __m512i shift, __mmask16 up) {
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1), most = _mm512_set1_epi32(31);
    const __m512i least = _mm512_set1_epi32(INT32_MIN), half = _mm512_set1_epi64(1 << 30);
    const __m512i left = _mm512_min_epi32(_mm512_max_epi32(shift, zero), most);
    const __m512i right = _mm512_sub_epi32(zero, _mm512_min_epi32(shift, zero));
    value = _mm512_sllv_epi32(value, left);
    /* high product: bits 31 .. 62 of (value * multiplier + 2^30) */
    const __m512i even = _mm512_mul_epi32(value, multiplier);
    const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(value, 32), _mm512_srli_epi64(multiplier, 32));
    __m512i high = nnacl_interleave_avx512(_mm512_srli_epi64(_mm512_add_epi64(even, half), 31),
                                           _mm512_srli_epi64(_mm512_add_epi64(odd, half), 31));
    const __mmask16 overflow = _mm512_mask_cmpeq_epi32_mask(_mm512_cmpeq_epi32_mask(value, least), multiplier, least);
    high = _mm512_mask_mov_epi32(high, overflow, _mm512_set1_epi32(INT32_MAX));
    /* rounding shift, halves away from zero or up; 0 when everything is shifted out */
    const __m512i bounded = _mm512_min_epi32(right, most);
    const __m512i mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, bounded), one);
    const __m512i rest = _mm512_and_si512(high, mask);
    __m512i threshold = _mm512_srli_epi32(mask, 1);
    const __mmask16 away = (__mmask16)(_mm512_movepi32_mask(high) & (__mmask16)~up);
    threshold = _mm512_mask_add_epi32(threshold, away, threshold, one);
    const __m512i whole = _mm512_srav_epi32(high, bounded);
    const __m512i rounded = _mm512_mask_add_epi32(whole, _mm512_cmpgt_epi32_mask(rest, threshold), whole, one);
    return _mm512_maskz_mov_epi32(_mm512_cmple_epi32_mask(right, most), rounded);
}

/* Eight products of the contract single: (product + 2^(right - 1)) >> right, saturated to 32 bits. */
static inline __m512i nnacl_single_avx512(__m512i product, __m512i right) {
    const __m512i one = _mm512_set1_epi64(1);
    product = _mm512_add_epi64(product, _mm512_sllv_epi64(one, _mm512_sub_epi64(right, one)));
    product = _mm512_srav_epi64(product, right);
    return _mm512_max_epi64(_mm512_min_epi64(product, _mm512_set1_epi64(INT32_MAX)), _mm512_set1_epi64(INT32_MIN));
}

/* nnacl_requant_single(). */
static inline __m512i nnacl_requant_single_avx512(__m512i value, __m512i multiplier, __m512i shift) {
    const __m512i least = _mm512_set1_epi32(-31);
    const __m512i limited = _mm512_min_epi32(_mm512_max_epi32(shift, least), _mm512_set1_epi32(30));
    const __m512i right = _mm512_sub_epi32(_mm512_set1_epi32(31), limited);
    const __m512i even = _mm512_mul_epi32(value, multiplier);
    const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(value, 32), _mm512_srli_epi64(multiplier, 32));
    const __m512i result =
        nnacl_interleave_avx512(nnacl_single_avx512(even, _mm512_and_si512(right, _mm512_set1_epi64(0xffffffff))),
                                nnacl_single_avx512(odd, _mm512_srli_epi64(right, 32)));
    return _mm512_maskz_mov_epi32(_mm512_cmpge_epi32_mask(shift, least), result);
}

/* nnacl_requant_channel() for 16 channels under float-even, without the zero point. */
static inline __m512i nnacl_requant_scaled_avx512(__m512i sums, __m512i scales, int32_t low, int32_t high) {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_castsi512_ps(scales));
    const __m512 least = _mm512_set1_ps((float)low), most = _mm512_set1_ps((float)high);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(product, least), most));
}

/* nnacl_requant_channel() for 16 channels where `saturates` holds, before saturation. */
static inline __m512i nnacl_requant_unclamped_avx512(__m512i sums, __m512i scales, __m512i zero) {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_castsi512_ps(scales));
    return _mm512_add_epi32(_mm512_cvtps_epi32(product), zero);
}

/* nnacl_requant_channel() for 16 channels where `saturates` holds. */
static inline __m128i nnacl_requant_saturated_avx512(__m512i sums, __m512i scales, __m512i zero) {
    return _mm512_cvtsepi32_epi8(nnacl_requant_unclamped_avx512(sums, scales, zero));
}

/* nnacl_requant_channel() for 16 channels. */
static inline __m512i nnacl_requant_avx512(__m512i sums, const nnacl_requant_lanes *r) {
    const __m512i low = _mm512_set1_epi32(r->low), high = _mm512_set1_epi32(r->high);
    __m512i scaled;
    if (r->rounding == NNACL_ROUND_FLOAT_EVEN) {
        scaled = nnacl_requant_scaled_avx512(sums, r->multiplier, r->low, r->high);
    } else {
        scaled = r->rounding == NNACL_ROUND_SINGLE ? nnacl_requant_single_avx512(sums, r->multiplier, r->shift)
                                                   : nnacl_requant_double_avx512(sums, r->multiplier, r->shift, r->up);
        scaled = _mm512_min_epi32(_mm512_max_epi32(scaled, low), high);
    }
    return _mm512_add_epi32(scaled, _mm512_set1_epi32(r->zero));
}

/* The same for `count` <= 16 channels: writes s8. */
static inline void nnacl_requant_store_avx512(__m512i sums, const nnacl_requant_lanes *r, int32_t count, int8_t *y) {
    _mm_mask_storeu_epi8(y, nnacl_lanes_s32_avx512(count), _mm512_cvtepi32_epi8(nnacl_requant_avx512(sums, r)));
}

#endif
