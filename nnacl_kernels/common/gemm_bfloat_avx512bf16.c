/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_bfloat_avx512bf16.h"

#define NNACL_TILE_ACROSS NNACL_TILE_PANELS

NNACL_ALWAYS_INLINE void tile_store(const nnacl_tile *t, nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                    const int32_t rows, const int32_t panels) {
    const __m512 low = _mm512_set1_ps(t->requant->low), high = _mm512_set1_ps(t->requant->high);
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __mmask16 lanes = nnacl_lanes_avx512bf16(t->columns - 16 * j);
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            const __m512 value = _mm512_max_ps(low, _mm512_castsi512_ps(sums[r][j])); /* NaN stays */
            _mm512_mask_storeu_ps(t->y + r * t->y_step + 16 * j, lanes, _mm512_min_ps(high, value));
        }
    }
}

#include "common/simd_tile_sums.h"

NNACL_ALWAYS_INLINE void tile_rows(const nnacl_tile *t, int32_t rows, const int32_t panels) {
    if (rows == 1) {
        tile_sums(t, 1, panels);
    } else if (rows == 2) {
        tile_sums(t, 2, panels);
    } else if (rows == 4) {
        tile_sums(t, 4, panels);
    } else {
        tile_sums(t, 8, panels);
    }
}

void nnacl_tile_run_avx512bf16(const nnacl_tile *t, int32_t rows) {
    nnacl_tile part = *t;
    for (int32_t take = 8; rows > 0; take /= 2) {
        if (rows < take) {
            continue;
        }
        if (t->columns <= 16) {
            tile_rows(&part, take, 1);
        } else if (t->columns <= 32) {
            tile_rows(&part, take, 2);
        } else {
            tile_rows(&part, take, 3);
        }
        part.a += take * part.a_step;
        part.y += take * part.y_step;
        rows -= take;
    }
}
