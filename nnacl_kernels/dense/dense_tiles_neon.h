/* SPDX-License-Identifier: Apache-2.0 */
/* The s8 dense of AArch64 by any of the tiles of tile_s8_neon.h. */
#ifndef NNACL_DENSE_TILES_NEON_H
#define NNACL_DENSE_TILES_NEON_H

#include "common/share.h"
#include "common/tile_s8_neon.h"
#include "dense/dense.h"

static inline void nnacl_dense_tiles_neon(const nnacl_ctx *ctx, const nnacl_dense_params *p, const void *const in[],
                                          void *const out[], nnacl_arm_layout layout, nnacl_arm_rows_fn run_rows) {
    const int8_t *packed = in[1];
    const size_t size = nnacl_arm_panel_size(1, p->depth, layout);
    nnacl_arm_tile t = {.tap_rows = 1,
                        .tap_columns = 1,
                        .run = p->depth,
                        .flags = nnacl_arm_word(packed, 0),
                        .zero = p->y_zero,
                        .q_min = p->q_min,
                        .q_max = p->q_max,
                        .y_step = p->units};
    const nnacl_arm_walk walk = {.at = in[0], .columns = p->rows + 1, .advance = p->depth};
    const nnacl_range panels = nnacl_share(ctx, nnacl_arm_panels(p->units, layout));
    for (int32_t panel = panels.begin; panel < panels.end; panel++) {
        const int32_t first = panel * layout.width, rest = p->units - first;
        t.panel = packed + NNACL_ARM_HEAD + (size_t)panel * size;
        t.columns = rest < layout.width ? rest : layout.width;
        t.y = (int8_t *)out[0] + first;
        run_rows(&t, walk, p->rows);
    }
}

#endif
