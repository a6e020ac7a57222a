/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx2.h"
#include "common/panels.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f32_avx2);

void nnacl_dense_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const float *x = in[0], *packed = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];
    nnacl_tile tile = {.depth = p->depth,
                       .panel_step = NNACL_PANEL_F32,
                       .y_step = p->units,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};

    const nnacl_range panels = nnacl_share(ctx, nnacl_panel_count(p->units, NNACL_PANEL_F32));
    for (int32_t panel = panels.begin; panel < panels.end; panel++) {
        const int32_t first = panel * NNACL_PANEL_F32, rest = p->units - first;
        tile.panel = packed + (ptrdiff_t)first * p->depth;
        tile.bias = bias ? bias + first : NULL;
        tile.columns = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
        for (int32_t row = 0; row < p->rows; row += NNACL_TILE_ROWS) {
            const int32_t left = p->rows - row, count = left < NNACL_TILE_ROWS ? left : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < count; r++) {
                tile.a[r] = x + (ptrdiff_t)(row + r) * p->depth;
            }
            tile.y = y + (ptrdiff_t)row * p->units + first;
            if (p->rows == 1) {
                nnacl_tile_run_vector(&tile);
            } else {
                nnacl_tile_run(&tile, count);
            }
        }
    }
}
