/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the s8 convolution and dense of AVX-512 VNNI are made of: up to 8 rows by three panels of 16 columns.
 * vpdpbusd multiplies bytes without a sign by bytes with one and adds four products without saturation. */
#ifndef NNACL_GEMM_S8_VNNI_H
#define NNACL_GEMM_S8_VNNI_H

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
    const int32_t *row_starts;          /* added to the sums of each row, or NULL */
    const nnacl_requant_lanes *requant; /* of each panel */
    int8_t *y;
    ptrdiff_t y_step;
    int32_t columns;
} nnacl_tile;

/* y = requant(a x b + bias) for 1 .. 8 rows. */
void nnacl_tile_run_s8_vnni(const nnacl_tile *t, int32_t rows);

/* How many of `left` panels come next: 4 are two and two. */
static inline int32_t nnacl_tile_take(int32_t left) {
    return left == 4 ? 2 : left < NNACL_TILE_PANELS ? left : NNACL_TILE_PANELS;
}

#endif
