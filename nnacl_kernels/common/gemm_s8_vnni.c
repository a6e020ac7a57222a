/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_vnni.h"

#define NNACL_TILE_ACROSS NNACL_TILE_PANELS

static __attribute__((noinline)) void tile_finish(const nnacl_tile *t, const __m512i *sums, int32_t rows,
                                                  int32_t panels) {
    for (int32_t j = 0; j < panels; j++) {
        const nnacl_requant_lanes requant = t->requant[j]; /* what is written cannot lie there */
        for (int32_t r = 0; r < rows; r++) {
            nnacl_requant_store_avx512(sums[r * panels + j], &requant, t->columns - 16 * j,
                                       t->y + r * t->y_step + 16 * j);
        }
    }
}

/* What most layers under float-even need. */
NNACL_ALWAYS_INLINE void tile_store_saturated(const nnacl_tile *t,
                                              nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS], const int32_t rows,
                                              const int32_t panels) {
    const __m512i zero = _mm512_set1_epi32(t->requant[0].zero);
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __m512i scales = t->requant[j].multiplier;
        const __mmask16 lanes = nnacl_lanes_s32_avx512(t->columns - 16 * j);
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            _mm_mask_storeu_epi8(t->y + r * t->y_step + 16 * j, lanes,
                                 nnacl_requant_saturated_avx512(sums[r][j], scales, zero));
        }
    }
}

NNACL_ALWAYS_INLINE bool tile_saturates(const nnacl_tile *t, const int32_t panels) {
    bool all = true;
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        all = all && t->requant[j].saturates;
    }
    return all;
}

/* Everything else, whose code is long: in a loop. */
NNACL_ALWAYS_INLINE void tile_store_any(const nnacl_tile *t, nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                        const int32_t rows, const int32_t panels) {
    __m512i all[NNACL_TILE_ROWS * NNACL_TILE_PANELS];
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            all[r * panels + j] = sums[r][j];
        }
    }
    tile_finish(t, all, rows, panels);
}

NNACL_ALWAYS_INLINE void tile_store(const nnacl_tile *t, nnacl_vector sums[NNACL_TILE_ROWS][NNACL_TILE_ACROSS],
                                    const int32_t rows, const int32_t panels) {
    if (tile_saturates(t, panels)) {
        tile_store_saturated(t, sums, rows, panels);
    } else {
        tile_store_any(t, sums, rows, panels);
    }
}

#include "common/simd_tile_sums.h"
#include "common/tile_sizes_avx512.h"

void nnacl_tile_run_s8_vnni(const nnacl_tile *t, int32_t rows) {
    const int32_t first = rows == 3 || rows == 5 ? rows - 1 : rows;
    tile_of_size(t, first);
    if (first < rows) {
        nnacl_tile rest = tile_rest(t, first);
        rest.row_starts = t->row_starts ? t->row_starts + first : NULL;
        tile_of_size(&rest, 1);
    }
}
