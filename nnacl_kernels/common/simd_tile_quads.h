/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of kernels that multiply quads of bytes (common/panels_quad.h), or pairs of bfloat16 (panels_bfloat.h).
 * Whoever includes this has named the type of its vectors, nnacl_vector, of its results, nnacl_tile_result, and of what
 * makes sums results, nnacl_requant_lanes, and says how many rows and panels a tile has at most, how many vectors a
 * panel, and whether rows end with whole quads. */
#ifndef NNACL_SIMD_TILE_QUADS_H
#define NNACL_SIMD_TILE_QUADS_H

#include "common/panels_quad.h"

#define NNACL_TILE_COLUMNS (NNACL_TILE_PANELS * NNACL_PANEL_QUAD)

/* Row r of a has its taps at a[r * a_step] ..., `run` bytes at each; the last tap may end before a multiple of four. */
typedef struct nnacl_tile {
    const int8_t *const *a;
    int32_t a_step, taps, run;
    const int8_t *b;
    ptrdiff_t panel_step;
    const int32_t *bias;                /* `columns` entries (s32, f32), or NULL */
    const int32_t *row_starts;          /* added to the sums of each row, or NULL */
    const nnacl_requant_lanes *requant; /* of each vector; f32: the clamp */
    nnacl_tile_result *y;
    ptrdiff_t y_step;
    int32_t columns;
} nnacl_tile;

#endif
