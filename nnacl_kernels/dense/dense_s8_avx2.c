/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant_avx2.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s8_avx2);

/* Units that are computed together. */
#define UNITS 8

static int32_t add_lanes(__m256i lanes) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return _mm_cvtsi128_si32(sum);
}

/* sums[u] = x . row u of the weights, less the zero points, for four units. */
static void dot_four(const nnacl_dense_params *p, const int8_t *x, const int8_t *const w[4], int32_t sums[4]) {
    const __m256i x_zero = _mm256_set1_epi16((int16_t)p->x_zero), w_zero = _mm256_set1_epi16((int16_t)p->w_zero);
    __m256i lanes[4];
    for (int32_t u = 0; u < 4; u++) {
        lanes[u] = _mm256_setzero_si256();
    }
    int32_t i = 0;
    for (; i + 16 <= p->depth; i += 16) {
        const __m256i a = _mm256_sub_epi16(_mm256_cvtepi8_epi16(nnacl_load_s8_avx2(x + i, 16)), x_zero);
#pragma GCC unroll 4
        for (int32_t u = 0; u < 4; u++) {
            const __m256i b = _mm256_sub_epi16(_mm256_cvtepi8_epi16(nnacl_load_s8_avx2(w[u] + i, 16)), w_zero);
            lanes[u] = _mm256_add_epi32(lanes[u], _mm256_madd_epi16(a, b));
        }
    }
    for (int32_t u = 0; u < 4; u++) {
        uint32_t sum = (uint32_t)add_lanes(lanes[u]);
        for (int32_t j = i; j < p->depth; j++) {
            sum += (uint32_t)((x[j] - p->x_zero) * (w[u][j] - p->w_zero));
        }
        sums[u] = (int32_t)sum;
    }
}

void nnacl_dense_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int8_t *x = in[0], *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    int8_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t unit = units.begin; unit < units.end; unit += UNITS) {
        const int32_t count = units.end - unit < UNITS ? units.end - unit : UNITS;
        const __m256i start = bias ? nnacl_load_s32_avx2(bias + unit, count) : _mm256_setzero_si256();
        for (int32_t row = 0; row < p->rows; row++) {
            int32_t sums[UNITS] = {0};
            for (int32_t first = 0; first < count; first += 4) {
                const int8_t *w[4];
                for (int32_t u = 0; u < 4; u++) { /* a missing unit repeats the last */
                    const int32_t index = first + u < count ? first + u : count - 1;
                    w[u] = weights + (ptrdiff_t)(unit + index) * p->depth;
                }
                dot_four(p, x + (ptrdiff_t)row * p->depth, w, sums + first);
            }
            const __m256i sum = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(const void *)sums), start);
            nnacl_requant_store_avx2(sum, requant, p->units, unit, count, p->rounding, p->y_zero, p->q_min, p->q_max,
                                     y + (ptrdiff_t)row * p->units + unit);
        }
    }
}
