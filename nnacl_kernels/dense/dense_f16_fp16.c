/* SPDX-License-Identifier: Apache-2.0 */
#include "common/panels.h"
#include "common/share.h"
#include "common/tile_f16_fp16.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f16_fp16);

void nnacl_dense_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const float16_t *x = in[0], *packed = in[1];
    const float *bias = p->has_bias ? in[2] : NULL;
    const float16_t *a[NNACL_TILE_ROWS_F16];
    nnacl_tile_f16 tile = {.a = a,
                           .a_step = 1,
                           .taps = 1,
                           .run = p->depth,
                           .y_step = p->units,
                           .clamp_min = p->clamp_min,
                           .clamp_max = p->clamp_max};

    const nnacl_range panels = nnacl_share(ctx, nnacl_panel_count(p->units, NNACL_PANEL_F16));
    for (int32_t panel = panels.begin; panel < panels.end; panel++) {
        const int32_t first = panel * NNACL_PANEL_F16, rest = p->units - first;
        tile.panel = packed + (ptrdiff_t)first * p->depth;
        tile.bias = bias ? bias + first : NULL;
        tile.columns = rest < NNACL_PANEL_F16 ? rest : NNACL_PANEL_F16;
        for (int32_t row = 0; row < p->rows; row += NNACL_TILE_ROWS_F16) {
            const int32_t left = p->rows - row, count = left < NNACL_TILE_ROWS_F16 ? left : NNACL_TILE_ROWS_F16;
            for (int32_t r = 0; r < count; r++) {
                a[r] = x + (ptrdiff_t)(row + r) * p->depth;
            }
            tile.y = (float16_t *)out[0] + (ptrdiff_t)row * p->units + first;
            nnacl_tile_run_f16(&tile, count);
        }
    }
}
