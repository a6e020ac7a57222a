/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "reduce/reduce_quantized.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_avx2);

#define WIDTH 16     /* neighbours that are summed at once */
#define IN_WORDS 256 /* bytes whose sum fits in 16 bits */

static void sums_16(const int8_t *x, ptrdiff_t step, int32_t count, int32_t sums[WIDTH]) {
    __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
    for (int32_t begin = 0; begin < count; begin += IN_WORDS) {
        const int32_t end = count - begin < IN_WORDS ? count : begin + IN_WORDS;
        __m256i words = _mm256_setzero_si256();
        for (int32_t j = begin; j < end; j++, x += step) {
            words = _mm256_add_epi16(words, _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)x)));
        }
        low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(words)));
        high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1)));
    }
    _mm256_storeu_si256((void *)sums, low);
    _mm256_storeu_si256((void *)(sums + 8), high);
}

static void sums_any(const int8_t *x, ptrdiff_t step, int32_t count, int32_t width, int32_t sums[WIDTH]) {
    for (int32_t i = 0; i < width; i++) {
        sums[i] = 0;
        for (int32_t j = 0; j < count; j++) {
            sums[i] += x[j * step + i];
        }
    }
}

void nnacl_reduce_mean_s8_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_reduce_params *p = params;
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, width = most < WIDTH ? most : WIDTH;
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)outer * count * inner + channel;
        int32_t sums[WIDTH];
        if (width == WIDTH) {
            sums_16(x, inner, count, sums);
        } else {
            sums_any(x, inner, count, width, sums);
        }
        for (int32_t i = 0; i < width; i++) {
            ((int8_t *)out[0])[output + i] = (int8_t)nnacl_reduce_finish(sums[i], count, p);
        }
        output += width;
    }
}
