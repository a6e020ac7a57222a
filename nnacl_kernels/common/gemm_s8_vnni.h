/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the s8 convolution and dense of AVX-512 VNNI are made of: up to 8 rows by three panels of 16 columns.
 * vpdpbusd multiplies bytes without a sign by bytes with one and adds four products without saturation. */
#ifndef NNACL_GEMM_S8_VNNI_H
#define NNACL_GEMM_S8_VNNI_H

#include <string.h>

#include "common/panels_quad.h"
#include "common/requant_avx512.h"

#define NNACL_ALWAYS_INLINE static inline __attribute__((always_inline))
#define NNACL_TILE_ROWS 8
#define NNACL_TILE_PANELS 3

/* Row r of a has its taps at a[r * a_step] ..., `run` bytes at each; the last tap may end before a multiple of four. */
typedef struct nnacl_tile {
    const int8_t *const *a;
    int32_t a_step, taps, run;
    const int8_t *b;
    ptrdiff_t panel_step;
    const int32_t *bias;                /* `columns` entries, or NULL */
    const nnacl_requant_lanes *requant; /* of each panel */
    int8_t *y;
    ptrdiff_t y_step;
    int32_t columns;
} nnacl_tile;

/* Four bytes of a row, 128 more each. */
static inline __m512i nnacl_tile_quad(const int8_t *a, int32_t count) {
    int32_t quad = 0;
    memcpy(&quad, a, (size_t)count);
    return _mm512_xor_si512(_mm512_set1_epi32(quad), _mm512_set1_epi32((int32_t)0x80808080u));
}

/* _mm512_dpbusd_epi32(), for which gcc 12 copies each sum to another register and back. */
NNACL_ALWAYS_INLINE void nnacl_tile_dot(__m512i *sum, __m512i left, __m512i right) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(left), "v"(right));
}

NNACL_ALWAYS_INLINE void nnacl_tile_step(__m512i sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS],
                                         const int8_t *const a[NNACL_TILE_ROWS], int32_t i, const int32_t count,
                                         const int8_t *b, ptrdiff_t panel_step, const int32_t rows,
                                         const int32_t panels) {
    __m512i right[NNACL_TILE_PANELS];
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        right[j] = _mm512_loadu_si512(b + j * panel_step);
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        const __m512i left = nnacl_tile_quad(a[r] + i, count);
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            nnacl_tile_dot(&sums[r][j], left, right[j]);
        }
    }
}

NNACL_ALWAYS_INLINE void nnacl_tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t panels) {
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
            nnacl_tile_step(sums, a, i, 4, b, t->panel_step, rows, panels);
        }
        if (i < t->run) {
            nnacl_tile_step(sums, a, i, t->run - i, b, t->panel_step, rows, panels);
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

NNACL_ALWAYS_INLINE void nnacl_tile_panels(const nnacl_tile *t, int32_t rows, const int32_t panels) {
    switch (rows) {
    case 1:
        nnacl_tile_sums(t, 1, panels);
        break;
    case 2:
        nnacl_tile_sums(t, 2, panels);
        break;
    case 3:
        nnacl_tile_sums(t, 3, panels);
        break;
    case 4:
        nnacl_tile_sums(t, 4, panels);
        break;
    case 5:
        nnacl_tile_sums(t, 5, panels);
        break;
    case 6:
        nnacl_tile_sums(t, 6, panels);
        break;
    case 7:
        nnacl_tile_sums(t, 7, panels);
        break;
    default:
        nnacl_tile_sums(t, 8, panels);
        break;
    }
}

/* y = requant(a x b + bias) for 1 .. 8 rows. */
static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    if (t->columns <= 16) {
        nnacl_tile_panels(t, rows, 1);
    } else if (t->columns <= 32) {
        nnacl_tile_panels(t, rows, 2);
    } else {
        nnacl_tile_panels(t, rows, 3);
    }
}

/* How many of `left` panels come next: 4 are two and two. */
static inline int32_t nnacl_tile_take(int32_t left) {
    return left == 4 ? 2 : left < NNACL_TILE_PANELS ? left : NNACL_TILE_PANELS;
}

#endif
