/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_avx2.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* Eight numbers x - zero of a row, or eight times its first one when it is repeated. */
static inline __m256i load(const int8_t *x, bool repeated, int32_t i, int32_t count, int32_t zero) {
    int8_t some[8] = {0};
    if (repeated) {
        return _mm256_set1_epi32(*x - zero);
    }
    if (count < 8) {
        memcpy(some, x + i, (size_t)count);
        x = some;
        i = 0;
    }
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(x + i));
    return _mm256_sub_epi32(_mm256_cvtepi8_epi32(bytes), _mm256_set1_epi32(zero));
}

static inline void store(int8_t *y, __m256i value, int32_t count) {
    int8_t some[16];
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    const __m128i bytes = _mm_packs_epi16(words, words);
    if (count >= 8) {
        _mm_storel_epi64((__m128i *)(void *)y, bytes);
        return;
    }
    _mm_storeu_si128((__m128i *)(void *)some, bytes);
    memcpy(y, some, (size_t)count);
}

static inline __m256i requant(__m256i value, int32_t mult, int32_t shift, int32_t rounding) {
    const __m256i multiplier = _mm256_set1_epi32(mult);
    const __m256i shifts = _mm256_set1_epi32(shift);
    if (rounding == NNACL_ROUND_SINGLE) {
        return nnacl_requant_single_avx2(value, multiplier, shifts);
    }
    const bool up = rounding == NNACL_ROUND_TFLITE_UP || rounding == NNACL_ROUND_TFLITE_UP_BY_8;
    return nnacl_requant_double_avx2(value, multiplier, shifts, _mm256_set1_epi32(up ? -1 : 0));
}

/* Rounding, zero point and clamp of a result in integers. */
static inline __m256i finish(__m256i value, const nnacl_binary_params *p) {
    const __m256i scaled = requant(value, p->y_mult, p->y_shift, p->rounding);
    const __m256i low = _mm256_set1_epi32(p->q_min - p->y_zero);
    const __m256i high = _mm256_set1_epi32(p->q_max - p->y_zero);
    return _mm256_add_epi32(_mm256_min_epi32(_mm256_max_epi32(scaled, low), high), _mm256_set1_epi32(p->y_zero));
}

/* The same of a result in float32, under float-even. NaN becomes the least value, as in nnacl_round_even(). */
static inline __m256i finish_float(__m256 value, const nnacl_binary_params *p) {
    const __m256 low = _mm256_set1_ps((float)(p->q_min - p->y_zero));
    const __m256 high = _mm256_set1_ps((float)(p->q_max - p->y_zero));
    const __m256 scaled = _mm256_div_ps(value, _mm256_set1_ps(p->y_scale));
    const __m256i rounded = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(scaled, low), high));
    return _mm256_add_epi32(rounded, _mm256_set1_epi32(p->y_zero));
}

static inline __m256 real(__m256i value, float scale) {
    return _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(value));
}

static inline __m256i rescale(__m256i value, int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const __m256i shifted = _mm256_slli_epi32(value, p->left_shift);
    if (p->rounding == NNACL_ROUND_TFLITE_DOWN && shift < 0) {
        return _mm256_srai_epi32(requant(shifted, mult, 0, NNACL_ROUND_TFLITE_DOUBLE), shift < -31 ? 31 : -shift);
    }
    return requant(shifted, mult, shift, p->rounding);
}

static inline __m256i add(__m256i a, __m256i b, const nnacl_binary_params *p) {
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return finish_float(_mm256_add_ps(real(a, p->a_scale), real(b, p->b_scale)), p);
    }
    return finish(_mm256_add_epi32(rescale(a, p->a_mult, p->a_shift, p), rescale(b, p->b_mult, p->b_shift, p)), p);
}

static inline __m256i sub(__m256i a, __m256i b, const nnacl_binary_params *p) {
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return finish_float(_mm256_sub_ps(real(a, p->a_scale), real(b, p->b_scale)), p);
    }
    return finish(_mm256_sub_epi32(rescale(a, p->a_mult, p->a_shift, p), rescale(b, p->b_mult, p->b_shift, p)), p);
}

static inline __m256i mul(__m256i a, __m256i b, const nnacl_binary_params *p) {
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return finish_float(_mm256_mul_ps(real(a, p->a_scale), real(b, p->b_scale)), p);
    }
    return finish(_mm256_mullo_epi32(a, b), p);
}

#define BINARY(op)                                                                                                     \
    NNACL_DECLARE(nnacl_##op##_s8_avx2);                                                                               \
    void nnacl_##op##_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const nnacl_binary_params *p = params;                                                                         \
        const bool one_a = p->a_strides[p->rank - 1] == 0;                                                             \
        const bool one_b = p->b_strides[p->rank - 1] == 0;                                                             \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const int8_t *a_row = (const int8_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);      \
            const int8_t *b_row = (const int8_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);      \
            int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * walk.width;                                                \
            for (int32_t i = walk.begin; i < walk.end; i += 8) {                                                       \
                const int32_t count = walk.end - i;                                                                    \
                const __m256i a = load(a_row, one_a, i, count, p->a_zero);                                             \
                const __m256i b = load(b_row, one_b, i, count, p->b_zero);                                             \
                store(y + i, op(a, b, p), count);                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

BINARY(add)
BINARY(sub)
BINARY(mul)
