/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 dense by any of the tiles of tile_f32.h. */
#ifndef NNACL_DENSE_TILES_F32_H
#define NNACL_DENSE_TILES_F32_H

#include "common/share.h"
#include "common/tile_f32.h"
#include "dense/dense.h"

static inline void nnacl_dense_tiles_f32(const nnacl_ctx *ctx, const nnacl_dense_params *p, const void *const in[],
                                         void *const out[], const nnacl_tile_method *method) {
    const float *x = in[0], *packed = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    const float *a[NNACL_TILE_MOST];
    nnacl_tile tile = {.a = a,
                       .a_step = 1,
                       .taps = 1,
                       .run = p->depth,
                       .b_step = NNACL_PANEL_F32,
                       .panel_step = (ptrdiff_t)p->depth * NNACL_PANEL_F32,
                       .y_step = p->units,
                       .ends = true,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};

    const nnacl_range panels = nnacl_share(ctx, nnacl_panel_count(p->units, NNACL_PANEL_F32));
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel, method->panels), first = panel * NNACL_PANEL_F32;
        const int32_t rest = p->units - first, width = take * NNACL_PANEL_F32;
        tile.b = packed + panel * tile.panel_step;
        tile.bias = bias ? bias + first : NULL;
        tile.columns = rest < width ? rest : width;
        for (int32_t row = 0; row < p->rows; row += method->rows) {
            const int32_t left = p->rows - row, count = left < method->rows ? left : method->rows;
            for (int32_t r = 0; r < count; r++) {
                a[r] = x + (ptrdiff_t)(row + r) * p->depth;
            }
            tile.y = y + (ptrdiff_t)row * p->units + first;
            if (p->rows == 1) {
                method->run_vector(&tile);
            } else {
                method->run(&tile, count);
            }
        }
        panel += take;
    }
}

#endif
