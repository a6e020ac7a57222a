/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_avxvnni.h"

#define NNACL_TILE_ACROSS 2

/* Two vectors of eight channels as 16 bytes. */
static inline __m128i to_bytes(__m256i left, __m256i right) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xd8);
    return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

static inline void store_bytes(__m128i bytes, int32_t columns, int8_t *y) {
    if (columns >= 16) {
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
    } else {
        int8_t all[16];
        _mm_storeu_si128((__m128i *)(void *)all, bytes);
        memcpy(y, all, (size_t)columns);
    }
}

static __attribute__((noinline)) void tile_finish(const nnacl_tile *t, const __m256i *sums, int32_t rows) {
    const nnacl_requant_lanes left = t->requant[0], right = t->requant[1]; /* what is written cannot lie there */
    const __m256i low = _mm256_set1_epi32(left.low), high = _mm256_set1_epi32(left.high);
    const __m256i zero = _mm256_set1_epi32(left.zero);
    int8_t *y = t->y;
    if (left.rounding == NNACL_ROUND_FLOAT_EVEN) {
        for (int32_t r = 0; r < rows; r++, sums += 2, y += t->y_step) {
            const __m256i a = nnacl_requant_scaled_avx2(sums[0], left.multiplier, low, high);
            const __m256i b = nnacl_requant_scaled_avx2(sums[1], right.multiplier, low, high);
            store_bytes(to_bytes(_mm256_add_epi32(a, zero), _mm256_add_epi32(b, zero)), t->columns, y);
        }
        return;
    }
    for (int32_t r = 0; r < rows; r++, sums += 2, y += t->y_step) {
        store_bytes(to_bytes(nnacl_requant_avx2(sums[0], &left), nnacl_requant_avx2(sums[1], &right)), t->columns, y);
    }
}

NNACL_ALWAYS_INLINE void tile_store(const nnacl_tile *t, nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                    const int32_t rows, const int32_t vectors) {
    __m256i all[NNACL_TILE_ROWS * NNACL_TILE_ACROSS]; /* a copy, so that the sums stay in registers until now */
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int32_t j = 0; j < vectors; j++) {
            all[r * vectors + j] = sums[r][j];
        }
    }
    tile_finish(t, all, rows);
}

#include "common/simd_tile_sums.h"

void nnacl_tile_run_s8_avxvnni(const nnacl_tile *t, int32_t rows) {
    switch (rows) {
    case 1:
        tile_sums(t, 1, 2);
        break;
    case 2:
        tile_sums(t, 2, 2);
        break;
    case 3:
        tile_sums(t, 3, 2);
        break;
    case 4:
        tile_sums(t, 4, 2);
        break;
    case 5:
        tile_sums(t, 5, 2);
        break;
    default:
        tile_sums(t, 6, 2);
        break;
    }
}
