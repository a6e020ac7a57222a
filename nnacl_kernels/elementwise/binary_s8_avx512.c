/* SPDX-License-Identifier: Apache-2.0 */
/* Under float-even. */
#include <immintrin.h>

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* scale * (x - zero) of 16 numbers of a row, or of its first one. */
static inline __m512 real(const int8_t *x, bool repeated, __mmask16 lanes, int32_t zero, float scale) {
    const __m512i numbers = repeated ? _mm512_set1_epi32(*x) : _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, x));
    return _mm512_mul_ps(_mm512_set1_ps(scale), _mm512_cvtepi32_ps(_mm512_sub_epi32(numbers, _mm512_set1_epi32(zero))));
}

/* NaN becomes the least value, as in nnacl_round_even(). */
static inline __m128i finish(__m512 value, const nnacl_binary_params *p) {
    const __m512 low = _mm512_set1_ps((float)(p->q_min - p->y_zero));
    const __m512 high = _mm512_set1_ps((float)(p->q_max - p->y_zero));
    const __m512 scaled = _mm512_div_ps(value, _mm512_set1_ps(p->y_scale));
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high));
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, _mm512_set1_epi32(p->y_zero)));
}

#define BINARY(op, combine)                                                                                            \
    NNACL_DECLARE(nnacl_##op##_s8_avx512);                                                                             \
    void nnacl_##op##_s8_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) { \
        const nnacl_binary_params own = *(const nnacl_binary_params *)params, *p = &own;                               \
        const bool one_a = p->a_strides[p->rank - 1] == 0;                                                             \
        const bool one_b = p->b_strides[p->rank - 1] == 0;                                                             \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const int8_t *a_row = (const int8_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);      \
            const int8_t *b_row = (const int8_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);      \
            int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * walk.width;                                                \
            for (int32_t i = walk.begin; i < walk.end; i += 16) {                                                      \
                const __mmask16 lanes = (__mmask16)(walk.end - i >= 16 ? 0xffff : (1u << (walk.end - i)) - 1u);        \
                const __m512 a = real(one_a ? a_row : a_row + i, one_a, lanes, p->a_zero, p->a_scale);                 \
                const __m512 b = real(one_b ? b_row : b_row + i, one_b, lanes, p->b_zero, p->b_scale);                 \
                _mm_mask_storeu_epi8(y + i, lanes, finish(combine(a, b), p));                                          \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add, _mm512_add_ps)
BINARY(sub, _mm512_sub_ps)
BINARY(mul, _mm512_mul_ps)
