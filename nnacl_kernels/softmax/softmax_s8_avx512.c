/* SPDX-License-Identifier: Apache-2.0 */
/* Under float-even, along the last axis. The sum of a row is made in the order of its elements, as everywhere; so that
 * additions do not wait for each other, several rows are summed at once. */
#include <immintrin.h>

#include "common/share.h"
#include "softmax/softmax.h"

NNACL_DECLARE(nnacl_softmax_s8_avx512);

static inline __mmask16 lanes_of(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << count) - 1u);
}

static int32_t maximum(const int8_t *x, int32_t depth) {
    __m512i most = _mm512_set1_epi32(-128);
    for (int32_t j = 0; j < depth; j += 16) {
        const __mmask16 lanes = lanes_of(depth - j);
        const __m512i numbers = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, x + j));
        most = _mm512_mask_max_epi32(most, lanes, most, numbers);
    }
    return _mm512_reduce_max_epi32(most);
}

/* table[x - max] of a row. */
static void look_up(const int8_t *x, int32_t depth, const float *table, float *e) {
    const int32_t max = maximum(x, depth);
    for (int32_t j = 0; j < depth; j += 16) {
        const __mmask16 lanes = lanes_of(depth - j);
        const __m512i numbers = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, x + j));
        const __m512i index = _mm512_sub_epi32(numbers, _mm512_set1_epi32(max));
        _mm512_mask_storeu_ps(e + j, lanes, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, index, table, 4));
    }
}

static void finish(const nnacl_softmax_params *p, const float *e, float sum, int8_t *y) {
    const __m512 factor = _mm512_set1_ps(1.0f / sum), scale = _mm512_set1_ps(p->y_scale);
    const __m512 low = _mm512_set1_ps((float)(-128 - p->y_zero)), high = _mm512_set1_ps((float)(127 - p->y_zero));
    for (int32_t j = 0; j < p->depth; j += 16) {
        const __mmask16 lanes = lanes_of(p->depth - j);
        const __m512 scaled = _mm512_div_ps(_mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, e + j), factor), scale);
        const __m512i rounded = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high));
        const __m512i value = _mm512_add_epi32(rounded, _mm512_set1_epi32(p->y_zero));
        _mm_mask_storeu_epi8(y + j, lanes, _mm512_cvtepi32_epi8(value));
    }
}

void nnacl_softmax_s8_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const float *table = (const float *)in[1] + 255;
    float *e = ctx->workspace;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t row = share.begin; row < share.end; row += NNACL_SOFTMAX_ROWS) {
        const int32_t left = share.end - row, rows = left < NNACL_SOFTMAX_ROWS ? left : NNACL_SOFTMAX_ROWS;
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)row * p->depth;
        float sums[NNACL_SOFTMAX_ROWS] = {0};
        for (int32_t r = 0; r < NNACL_SOFTMAX_ROWS; r++) { /* rows that are not there repeat the last one */
            look_up(x + (ptrdiff_t)(r < rows ? r : rows - 1) * p->depth, p->depth, table, e + (ptrdiff_t)r * p->depth);
        }
        for (int32_t j = 0; j < p->depth; j++) {
#pragma GCC unroll 8
            for (int32_t r = 0; r < NNACL_SOFTMAX_ROWS; r++) {
                sums[r] += e[(ptrdiff_t)r * p->depth + j];
            }
        }
        for (int32_t r = 0; r < rows; r++) {
            finish(p, e + (ptrdiff_t)r * p->depth, sums[r], (int8_t *)out[0] + (ptrdiff_t)(row + r) * p->depth);
        }
    }
}
