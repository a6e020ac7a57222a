/* SPDX-License-Identifier: Apache-2.0 */
/* Under float-even. */
#include <immintrin.h>

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

typedef enum operation { ADD, SUB, MUL } operation;

typedef struct operand {
    __m512 scale;
    __m512i zero;
    bool repeated; /* all numbers of a row are its first one */
} operand;

typedef struct result {
    __m512 scale;
    int32_t low, high, zero;
} result;

/* scale * (x - zero) of 16 numbers. */
NNACL_ALWAYS_INLINE __m512 real(const operand *o, const int8_t *x, int32_t i, __mmask16 lanes) {
    const __m512i numbers =
        o->repeated ? _mm512_set1_epi32(*x) : _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, x + i));
    return _mm512_mul_ps(o->scale, _mm512_cvtepi32_ps(_mm512_sub_epi32(numbers, o->zero)));
}

NNACL_ALWAYS_INLINE __m512 quotient(const result *r, __m512 a, __m512 b, const operation op) {
    const __m512 value = op == ADD ? _mm512_add_ps(a, b) : op == SUB ? _mm512_sub_ps(a, b) : _mm512_mul_ps(a, b);
    return _mm512_div_ps(value, r->scale);
}

/* Bytes of 16 quotients. NaN becomes the least value, as in nnacl_round_even(). */
NNACL_ALWAYS_INLINE __m128i finish(const result *r, __m512 scaled) {
    const __m512 low = _mm512_set1_ps((float)(r->low - r->zero)), high = _mm512_set1_ps((float)(r->high - r->zero));
    const __m512i rounded = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high));
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, _mm512_set1_epi32(r->zero)));
}

/* Bytes of 64 quotients none of which rounds to more than 32 bits: saturation is their first clamp. */
NNACL_ALWAYS_INLINE __m512i finish_64(const result *r, const __m512 scaled[4]) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zero = _mm512_set1_epi16((int16_t)r->zero);
    const __m512i front = _mm512_packs_epi32(_mm512_cvtps_epi32(scaled[0]), _mm512_cvtps_epi32(scaled[1]));
    const __m512i back = _mm512_packs_epi32(_mm512_cvtps_epi32(scaled[2]), _mm512_cvtps_epi32(scaled[3]));
    const __m512i bytes = _mm512_packs_epi16(_mm512_adds_epi16(front, zero), _mm512_adds_epi16(back, zero));
    const __m512i least = _mm512_set1_epi8((int8_t)r->low), most = _mm512_set1_epi8((int8_t)r->high);
    return _mm512_permutexvar_epi32(order, _mm512_min_epi8(_mm512_max_epi8(bytes, least), most));
}

/* Whether every quotient is below 2^31. */
static bool is_bounded(const nnacl_binary_params *p, const operation op) {
    const float a = 255.0f * p->a_scale, b = 255.0f * p->b_scale;
    return a >= 0.0f && b >= 0.0f && (op == MUL ? a * b : a + b) < 0x1p30f * p->y_scale;
}

NNACL_ALWAYS_INLINE void run(const nnacl_ctx *ctx, const nnacl_binary_params *p, const void *const in[],
                             void *const out[], const operation op) {
    const operand a = {_mm512_set1_ps(p->a_scale), _mm512_set1_epi32(p->a_zero), p->a_strides[p->rank - 1] == 0};
    const operand b = {_mm512_set1_ps(p->b_scale), _mm512_set1_epi32(p->b_zero), p->b_strides[p->rank - 1] == 0};
    const result r = {_mm512_set1_ps(p->y_scale), p->q_min, p->q_max, p->y_zero};
    const bool bounded = is_bounded(p, op) && !a.repeated && !b.repeated;
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    for (int32_t row = walk.row; row < walk.last_row; row++) {
        const int8_t *a_row = (const int8_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);
        const int8_t *b_row = (const int8_t *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * walk.width;
        int32_t i = walk.begin;
        for (; bounded && i + 64 <= walk.end; i += 64) {
            const operand a_all = {a.scale, a.zero, false}, b_all = {b.scale, b.zero, false};
            __m512 scaled[4];
#pragma GCC unroll 4
            for (int32_t j = 0; j < 4; j++) {
                const int32_t at = i + 16 * j;
                scaled[j] = quotient(&r, real(&a_all, a_row, at, 0xffff), real(&b_all, b_row, at, 0xffff), op);
            }
            _mm512_storeu_si512(y + i, finish_64(&r, scaled));
        }
        for (; i < walk.end; i += 16) {
            const __mmask16 lanes = (__mmask16)(walk.end - i >= 16 ? 0xffff : (1u << (walk.end - i)) - 1u);
            const __m512 scaled = quotient(&r, real(&a, a_row, i, lanes), real(&b, b_row, i, lanes), op);
            _mm_mask_storeu_epi8(y + i, lanes, finish(&r, scaled));
        }
    }
}

#define BINARY(name, op)                                                                                               \
    NNACL_DECLARE(nnacl_##name##_s8_avx512);                                                                           \
    void nnacl_##name##_s8_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_binary_params own = *(const nnacl_binary_params *)params;                                          \
        run(ctx, &own, in, out, op);                                                                                   \
    }

BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
