/* SPDX-License-Identifier: Apache-2.0 */
/* dense of s8 for whoever has included a tile of quads, such as common/gemm_s8_vnni.h. */
#ifndef NNACL_SIMD_DENSE_QUADS_H
#define NNACL_SIMD_DENSE_QUADS_H

#include "common/share.h"
#include "dense/dense.h"

static void dense_quads(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int8_t *x = in[0], *packed = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    int8_t *y = out[0];
    const int8_t *a[NNACL_TILE_ROWS];
    nnacl_requant_lanes lanes[NNACL_TILE_PANELS * NNACL_TILE_VECTORS];
    nnacl_tile tile = {.a = a,
                       .a_step = 1,
                       .taps = 1,
                       .run = p->depth,
                       .panel_step = (ptrdiff_t)nnacl_panel_quad_size(p->depth),
                       .requant = lanes,
                       .y_step = p->units};

    const nnacl_range panels = nnacl_share(ctx, nnacl_panel_count(p->units, NNACL_PANEL_QUAD));
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel), first = panel * NNACL_PANEL_QUAD;
        const int32_t rest = p->units - first, width = take * NNACL_PANEL_QUAD;
        tile.b = packed + panel * tile.panel_step;
        tile.bias = bias ? bias + first : NULL;
        tile.columns = rest < width ? rest : width;
        nnacl_tile_requant(lanes, in[3], p->units, first, tile.columns, p->rounding, p->y_zero, p->q_min, p->q_max);
        for (int32_t row = 0; row < p->rows; row += NNACL_TILE_ROWS) {
            const int32_t left = p->rows - row, count = left < NNACL_TILE_ROWS ? left : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < count; r++) {
                a[r] = x + (ptrdiff_t)(row + r) * p->depth;
            }
            tile.y = y + (ptrdiff_t)row * p->units + first;
            nnacl_tile_run(&tile, count);
        }
        panel += take;
    }
}

#endif
