/* SPDX-License-Identifier: Apache-2.0 */
/* The s8 dense of AArch64 by any of the tiles of tile_s8_neon.h. */
#ifndef NNACL_DENSE_TILES_NEON_H
#define NNACL_DENSE_TILES_NEON_H

#include "common/share.h"
#include "common/tile_s8_neon.h"
#include "dense/dense.h"

/* Some rows and panels. */
static inline void nnacl_dense_rows_neon(const nnacl_dense_params *p, nnacl_range panels, nnacl_arm_tile *t,
                                         const int8_t *x, int8_t *y, int32_t rows, nnacl_arm_layout layout,
                                         nnacl_arm_rows_fn run_rows) {
    const size_t size = nnacl_arm_panel_size(1, p->depth, layout);
    const nnacl_arm_walk walk = {.at = x, .columns = rows + 1, .advance = p->depth};
    const int8_t *packed = t->panel;
    const int32_t step = rows == 1 && layout.width < NNACL_TILE_MOST_COLUMNS ? 2 : 1, span = step * layout.width;
    const int32_t share = panels.end * layout.width, end = share < p->units ? share : p->units;
    t->panel += (size_t)panels.begin * size;
    for (int32_t first = panels.begin * layout.width; first < end; first += span, t->panel += (size_t)step * size) {
        t->columns = end - first < span ? end - first : span;
        t->y = y + first;
        run_rows(t, walk, rows);
    }
    t->panel = packed;
}

static inline void nnacl_dense_tiles_neon(const nnacl_ctx *ctx, const nnacl_dense_params *p, const void *const in[],
                                          void *const out[], nnacl_arm_layout layout, nnacl_arm_rows_fn run_rows) {
    nnacl_arm_tile t = {.tap_rows = 1,
                        .tap_columns = 1,
                        .run = p->depth,
                        .panel = (const int8_t *)in[1] + NNACL_ARM_HEAD,
                        .flags = nnacl_arm_word(in[1], 0),
                        .zero = p->y_zero,
                        .q_min = p->q_min,
                        .q_max = p->q_max,
                        .y_step = p->units};
    const nnacl_range panels = nnacl_share(ctx, nnacl_arm_panels(p->units, layout));
    const int8_t *x = in[0];
    int8_t *y = out[0];
    if (p->depth >= NNACL_ARM_CHUNK) {
        nnacl_dense_rows_neon(p, panels, &t, x, y, p->rows, layout, run_rows);
        return;
    }
    int8_t *copy = (int8_t *)ctx->workspace + NNACL_ARM_CHUNK;
    for (int32_t row = 0; row < p->rows; row += NNACL_ARM_SHORT_ROWS) {
        const int32_t left = p->rows - row, rows = left < NNACL_ARM_SHORT_ROWS ? left : NNACL_ARM_SHORT_ROWS;
        memcpy(copy, x + (ptrdiff_t)row * p->depth, (size_t)rows * (size_t)p->depth);
        nnacl_dense_rows_neon(p, panels, &t, copy, y + (ptrdiff_t)row * p->units, rows, layout, run_rows);
    }
}

#endif
