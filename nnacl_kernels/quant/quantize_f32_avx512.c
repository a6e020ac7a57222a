/* SPDX-License-Identifier: Apache-2.0 */
/* Of a whole tensor to bytes. */
#include <immintrin.h>

#include "common/requant.h"
#include "common/share.h"
#include "quant/quant.h"

NNACL_DECLARE(nnacl_quantize_f32_avx512);

typedef struct quantizer {
    __m512 factor, low, high; /* low and high without the zero point */
    __m512i zero;
    bool divides, has_sign;
} quantizer;

static inline __m128i bytes_of(const quantizer *q, __m512 x) {
    const __m512 scaled = q->divides ? _mm512_div_ps(x, q->factor) : _mm512_mul_ps(x, q->factor);
    /* NaN counts as 0 whatever the factor is, which for a scale without an inverse is infinite. */
    const __m512 known = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), scaled);
    const __m512 bounded = _mm512_min_ps(_mm512_max_ps(known, q->low), q->high);
    const __m512i y = _mm512_add_epi32(_mm512_cvtps_epi32(bounded), q->zero);
    return q->has_sign ? _mm512_cvtepi32_epi8(y) : _mm512_cvtusepi32_epi8(y);
}

/* The elements past the whole groups of 8 of NNACL_ROUND_TFLITE_UP_BY_8. */
static int32_t single(float x, float scale, int32_t zero, int32_t low, int32_t high) {
    double scaled = x == x ? (double)x / (double)scale : 0.0;
    scaled = scaled > low - zero ? scaled : low - zero;
    scaled = scaled < high - zero ? scaled : high - zero;
    return zero + (int32_t)(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

void nnacl_quantize_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_quantize_params *p = params;
    const float *x = in[0];
    uint8_t *y = out[0];
    const float scale = p->has_scales ? *(const float *)in[1] : p->scale;
    const bool has_sign = p->to == NNACL_S8, grouped = p->rounding == NNACL_ROUND_TFLITE_UP_BY_8;
    const int32_t low = has_sign ? INT8_MIN : 0, high = has_sign ? INT8_MAX : UINT8_MAX;
    const int32_t zero = nnacl_clamp_s32(p->has_zeros ? *(const int32_t *)in[2] : p->zero, low, high);
    const quantizer q = {.factor = _mm512_set1_ps(grouped ? 1.0f / scale : scale),
                         .low = _mm512_set1_ps((float)(low - zero)),
                         .high = _mm512_set1_ps((float)(high - zero)),
                         .zero = _mm512_set1_epi32(zero),
                         .divides = !grouped,
                         .has_sign = has_sign};
    const int32_t count = p->outer * p->channels * p->inner, whole = grouped ? count / 8 * 8 : count;
    const nnacl_range share = nnacl_share(ctx, count);
    const int32_t end = share.end < whole ? share.end : whole;
    int32_t i = share.begin;
    for (; i + 16 <= end; i += 16) {
        _mm_storeu_si128((void *)(y + i), bytes_of(&q, _mm512_loadu_ps(x + i)));
    }
    if (i < end) {
        const __mmask16 lanes = (__mmask16)((1u << (end - i)) - 1u);
        _mm_mask_storeu_epi8(y + i, lanes, bytes_of(&q, _mm512_maskz_loadu_ps(lanes, x + i)));
        i = end;
    }
    for (; i < share.end; i++) {
        y[i] = (uint8_t)single(x[i], scale, zero, low, high);
    }
}
