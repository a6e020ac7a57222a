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
            sums[r][j] = start;
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
        for (; i + 4 <= t->run; i += 4, b += 4 * NNACL_PANEL_QUAD) {
            tile_step(sums, a, i, 4, b, t->panel_step, rows, panels);
        }
        if (i < t->run) {
            tile_step(sums, a, i, t->run - i, b, t->panel_step, rows, panels);
        }
    }
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            nnacl_requant_store_avx512(sums[r][j], &t->requant[j], t->columns - 16 * j, t->y + r * t->y_step + 16 * j);
        }
    }
}

NNACL_ALWAYS_INLINE void tile_panels(const nnacl_tile *t, int32_t rows, const int32_t panels) {
    switch (rows) {
    case 1:
        tile_sums(t, 1, panels);
        break;
    case 2:
        tile_sums(t, 2, panels);
        break;
    case 3:
        tile_sums(t, 3, panels);
        break;
    case 4:
        tile_sums(t, 4, panels);
        break;
    case 5:
        tile_sums(t, 5, panels);
        break;
    case 6:
        tile_sums(t, 6, panels);
        break;
    case 7:
        tile_sums(t, 7, panels);
        break;
    default:
        tile_sums(t, 8, panels);
        break;
    }
}

void nnacl_tile_run_s8_vnni(const nnacl_tile *t, int32_t rows) {
    if (t->columns <= 16) {
        tile_panels(t, rows, 1);
    } else if (t->columns <= 32) {
        tile_panels(t, rows, 2);
    } else {
        tile_panels(t, rows, 3);
    }
}
