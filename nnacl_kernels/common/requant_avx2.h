/* SPDX-License-Identifier: Apache-2.0 */
/* requant.h for eight channels at a time: the same integers for every argument. */
#ifndef NNACL_REQUANT_AVX2_H
#define NNACL_REQUANT_AVX2_H

#include <string.h>

#include "common/lanes_avx2.h"

/* nnacl_requant_double(), or nnacl_requant_double_up() in the lanes that are set in `up`. */
static inline __m256i nnacl_requant_double_avx2(__m256i value, __m256i multiplier, __m256i shift, __m256i up) {
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1), most = _mm256_set1_epi32(31);
    const __m256i least = _mm256_set1_epi32(INT32_MIN);
    const __m256i left = _mm256_min_epi32(_mm256_max_epi32(shift, zero), most);
    const __m256i right =
        _mm256_sub_epi32(zero, _mm256_min_epi32(_mm256_max_epi32(shift, _mm256_set1_epi32(-62)), zero));
    value = _mm256_sllv_epi32(value, left);
    /* high product: bits 31 .. 62 of (value * multiplier + 2^30), of the even lanes and of the odd ones */
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    __m256i even = _mm256_mul_epi32(value, multiplier);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(value, 32), _mm256_srli_epi64(multiplier, 32));
    even = _mm256_srli_epi64(_mm256_add_epi64(even, half), 31);
    odd = _mm256_slli_epi64(_mm256_srli_epi64(_mm256_add_epi64(odd, half), 31), 32);
    __m256i high = _mm256_blend_epi32(even, odd, 0xaa);
    const __m256i overflow = _mm256_and_si256(_mm256_cmpeq_epi32(value, least), _mm256_cmpeq_epi32(multiplier, least));
    high = _mm256_blendv_epi8(high, _mm256_set1_epi32(INT32_MAX), overflow);
    /* rounding shift, halves away from zero or up; 0 when everything is shifted out */
    const __m256i bounded = _mm256_min_epi32(right, most);
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, bounded), one);
    const __m256i rest = _mm256_and_si256(high, mask);
    const __m256i away = _mm256_andnot_si256(up, _mm256_srai_epi32(high, 31));
    const __m256i threshold = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), away);
    const __m256i rounded = _mm256_sub_epi32(_mm256_srav_epi32(high, bounded), _mm256_cmpgt_epi32(rest, threshold));
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(right, most), rounded);
}

/* Four products of the contract single: (product + 2^(right - 1)) >> right, saturated to 32 bits. */
static inline __m256i nnacl_single_quad_avx2(__m256i product, __m256i right) {
    const __m256i one = _mm256_set1_epi64x(1), sign = _mm256_set1_epi64x(INT64_MIN);
    const __m256i most = _mm256_set1_epi64x(INT32_MAX), least = _mm256_set1_epi64x(INT32_MIN);
    product = _mm256_add_epi64(product, _mm256_sllv_epi64(one, _mm256_sub_epi64(right, one)));
    /* an arithmetic shift by way of unsigned numbers */
    product = _mm256_srlv_epi64(_mm256_xor_si256(product, sign), right);
    product = _mm256_sub_epi64(product, _mm256_srlv_epi64(sign, right));
    product = _mm256_blendv_epi8(product, most, _mm256_cmpgt_epi64(product, most));
    return _mm256_blendv_epi8(product, least, _mm256_cmpgt_epi64(least, product));
}

/* nnacl_requant_single(). */
static inline __m256i nnacl_requant_single_avx2(__m256i value, __m256i multiplier, __m256i shift) {
    const __m256i limited = _mm256_min_epi32(_mm256_max_epi32(shift, _mm256_set1_epi32(-31)), _mm256_set1_epi32(30));
    const __m256i right = _mm256_sub_epi32(_mm256_set1_epi32(31), limited);
    const __m256i low_word = _mm256_set1_epi64x(0xffffffff);
    __m256i even = _mm256_mul_epi32(value, multiplier);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(value, 32), _mm256_srli_epi64(multiplier, 32));
    even = nnacl_single_quad_avx2(even, _mm256_and_si256(right, low_word));
    odd = nnacl_single_quad_avx2(odd, _mm256_srli_epi64(right, 32));
    const __m256i result = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(-31), shift), result);
}

static inline __m256i nnacl_load_s32_avx2(const int32_t *source, int32_t count) {
    return _mm256_maskload_epi32((const int *)source, nnacl_lanes_avx2(count));
}

/* What the requantization of up to eight neighbouring channels knows; see nnacl_requant_channel(). */
typedef struct nnacl_requant_eight {
    __m256i multiplier, shift; /* float-even: the scales, bit by bit, in `multiplier` */
    __m256i up;                /* channels under the contract nnacl_requant_double_up() */
    int32_t rounding, zero, low, high;
} nnacl_requant_eight;

/* Of channels first .. first + count - 1 of `channels`; count may be negative or above 8. */
static inline nnacl_requant_eight nnacl_requant_eight_avx2(const void *requant, int32_t channels, int32_t first,
                                                           int32_t count, int32_t rounding, int32_t zero, int32_t q_min,
                                                           int32_t q_max) {
    const int32_t *row = (const int32_t *)requant + first;
    const bool scales = rounding == NNACL_ROUND_FLOAT_EVEN;
    const int32_t up = rounding == NNACL_ROUND_TFLITE_UP        ? 8
                       : rounding == NNACL_ROUND_TFLITE_UP_BY_8 ? channels / 8 * 8 - first
                                                                : 0;
    return (nnacl_requant_eight){nnacl_load_s32_avx2(row, count),
                                 scales ? _mm256_setzero_si256() : nnacl_load_s32_avx2(row + channels, count),
                                 nnacl_lanes_avx2(up),
                                 rounding,
                                 zero,
                                 q_min - zero,
                                 q_max - zero};
}

/* nnacl_requant_channel() for eight channels under float-even, without the zero point. */
static inline __m256i nnacl_requant_scaled_avx2(__m256i sums, __m256i scales, __m256i low, __m256i high) {
    __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_castsi256_ps(scales));
    product = _mm256_min_ps(_mm256_max_ps(product, _mm256_cvtepi32_ps(low)), _mm256_cvtepi32_ps(high));
    return _mm256_cvtps_epi32(product);
}

/* nnacl_requant_channel() for eight channels. */
static inline __m256i nnacl_requant_avx2(__m256i sums, const nnacl_requant_eight *r) {
    const __m256i low = _mm256_set1_epi32(r->low), high = _mm256_set1_epi32(r->high);
    __m256i scaled;
    if (r->rounding == NNACL_ROUND_FLOAT_EVEN) {
        scaled = nnacl_requant_scaled_avx2(sums, r->multiplier, low, high);
    } else {
        scaled = r->rounding == NNACL_ROUND_SINGLE ? nnacl_requant_single_avx2(sums, r->multiplier, r->shift)
                                                   : nnacl_requant_double_avx2(sums, r->multiplier, r->shift, r->up);
        scaled = _mm256_min_epi32(_mm256_max_epi32(scaled, low), high);
    }
    return _mm256_add_epi32(scaled, _mm256_set1_epi32(r->zero));
}

/* The same for channels first .. first + count - 1 of `channels`, count <= 8: writes s8. */
static inline void nnacl_requant_store_avx2(__m256i sums, const void *requant, int32_t channels, int32_t first,
                                            int32_t count, int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max,
                                            int8_t *y) {
    const nnacl_requant_eight eight =
        nnacl_requant_eight_avx2(requant, channels, first, count, rounding, zero, q_min, q_max);
    const __m256i scaled = nnacl_requant_avx2(sums, &eight);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(scaled), _mm256_extracti128_si256(scaled, 1));
    const __m128i bytes = _mm_packs_epi16(words, words);
    if (count >= 8) {
        _mm_storel_epi64((__m128i *)(void *)y, bytes);
    } else {
        int8_t all[16];
        _mm_storeu_si128((__m128i *)(void *)all, bytes);
        memcpy(y, all, (size_t)count);
    }
}

/* Up to 16 bytes; the rest is 0 and not read. */
static inline __m128i nnacl_load_s8_avx2(const int8_t *source, int32_t count) {
    if (count >= 16) {
        return _mm_loadu_si128((const __m128i *)(const void *)source);
    }
    if (count == 8) {
        return _mm_loadl_epi64((const __m128i *)(const void *)source);
    }
    int8_t all[16] = {0};
    memcpy(all, source, (size_t)count);
    return _mm_loadu_si128((const __m128i *)(const void *)all);
}

#endif
