/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "reduce/reduce_columns.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_avx2);

static void sum_taps(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums) {
    const int8_t *x = t->x + channel;
    if (lanes < NNACL_TAP_LANES) {
        for (int32_t i = 0; i < lanes; i++) {
            sums[i] = 0;
            for (int32_t j = 0; j < t->columns; j++) {
                sums[i] += x[j * t->column_step + i];
            }
        }
        return;
    }
    __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    for (int32_t begin = 0; begin < t->columns; begin += NNACL_TAPS_IN_WORDS) {
        const int32_t left = t->columns - begin, end = left < NNACL_TAPS_IN_WORDS ? left : NNACL_TAPS_IN_WORDS;
        __m256i words = _mm256_setzero_si256();
        for (int32_t j = 0; j < end; j++, x += t->column_step) {
            words = _mm256_add_epi16(words, _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)x)));
        }
        low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(words)));
        high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1)));
    }
    _mm256_storeu_si256((void *)sums, low);
    _mm256_storeu_si256((void *)(sums + 8), high);
}

void nnacl_reduce_mean_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_columns(ctx, params, 1, in[0], out[0], NNACL_TAP_LANES, sum_taps, nnacl_reduce_end_s8);
}
