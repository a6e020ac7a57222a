/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_vnni.h"

#include <string.h>

/* Four bytes of a row, 128 more each. */
static inline __m512i tile_quad(const int8_t *a, int32_t count) {
    int32_t quad = 0;
    memcpy(&quad, a, (size_t)count);
    return _mm512_xor_si512(_mm512_set1_epi32(quad), _mm512_set1_epi32((int32_t)0x80808080u));
}

/* _mm512_dpbusd_epi32(), for which gcc 12 copies each sum to another register and back. */
NNACL_ALWAYS_INLINE void tile_dot(__m512i *sum, __m512i left, __m512i right) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(left), "v"(right));
}

NNACL_ALWAYS_INLINE void tile_step(__m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS],
                                   const int8_t *const a[NNACL_TILE_ROWS], int32_t i, const int32_t count,
                                   const int8_t *b, ptrdiff_t panel_step, const int32_t rows, const int32_t panels) {
    __m512i right[NNACL_TILE_PANELS];
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        right[j] = _mm512_loadu_si512(b + j * panel_step);
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        const __m512i left = tile_quad(a[r] + i, count);
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            tile_dot(&sums[r][j], left, right[j]);
        }
    }
}

/* One row: four sums at a time for each panel, because few sums would wait for each other. Returns how many bytes of
 * the row are done. */
NNACL_ALWAYS_INLINE int32_t tile_row(__m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS],
                                     const int8_t *const a[NNACL_TILE_ROWS], int32_t run, const int8_t **b,
                                     ptrdiff_t panel_step, const int32_t panels) {
    __m512i more[3][NNACL_TILE_ROWS][NNACL_TILE_PANELS];
    int32_t i = 0;
    if (run < 32) {
        return 0;
    }
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        more[0][0][j] = more[1][0][j] = more[2][0][j] = _mm512_setzero_si512();
    }
    for (; i + 16 <= run; i += 16, *b += 16 * NNACL_PANEL_QUAD) {
        tile_step(sums, a, i, 4, *b, panel_step, 1, panels);
#pragma GCC unroll 3
        for (int32_t s = 0; s < 3; s++) {
            tile_step(more[s], a, i + 4 * s + 4, 4, *b + (4 * s + 4) * NNACL_PANEL_QUAD, panel_step, 1, panels);
        }
    }
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __m512i pair = _mm512_add_epi32(more[0][0][j], more[1][0][j]);
        sums[0][j] = _mm512_add_epi32(sums[0][j], _mm512_add_epi32(pair, more[2][0][j]));
    }
    return i;
}

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
NNACL_ALWAYS_INLINE void tile_store_saturated(const nnacl_tile *t, __m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS],
                                              const int32_t rows, const int32_t panels) {
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
NNACL_ALWAYS_INLINE void tile_store(const nnacl_tile *t, __m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS],
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

NNACL_ALWAYS_INLINE void tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t panels) {
    __m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS];
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        __m512i start = _mm512_loadu_si512(t->b + j * t->panel_step);
        if (t->bias) {
            const __mmask16 lanes = nnacl_lanes_s32_avx512(t->columns - 16 * j);
            start = _mm512_add_epi32(start, _mm512_maskz_loadu_epi32(lanes, t->bias + 16 * j));
        }
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            sums[r][j] = t->row_starts ? _mm512_add_epi32(start, _mm512_set1_epi32(t->row_starts[r])) : start;
        }
    }
    const int8_t *b = t->b + NNACL_PANEL_QUAD * sizeof(int32_t);
    for (int32_t tap = 0; tap < t->taps; tap++) {
        const int8_t *a[NNACL_TILE_ROWS];
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            a[r] = t->a[r * t->a_step + tap];
        }
        int32_t i = 0;
        if (rows == 1) {
            i = tile_row(sums, a, t->run, &b, t->panel_step, panels);
        }
        for (; i + 4 <= t->run; i += 4, b += 4 * NNACL_PANEL_QUAD) {
            tile_step(sums, a, i, 4, b, t->panel_step, rows, panels);
        }
        if (i < t->run) {
            tile_step(sums, a, i, t->run - i, b, t->panel_step, rows, panels);
        }
    }
    if (tile_saturates(t, panels)) {
        tile_store_saturated(t, sums, rows, panels);
    } else {
        tile_store(t, sums, rows, panels);
    }
}

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
