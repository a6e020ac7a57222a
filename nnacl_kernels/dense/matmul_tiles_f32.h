/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 matmul by any of the tiles of tile_f32.h. */
#ifndef NNACL_MATMUL_TILES_F32_H
#define NNACL_MATMUL_TILES_F32_H

#include "common/share.h"
#include "common/tile_f32.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

/* Columns first .. first + columns - 1 of matrix b as panels of 16 in the workspace; missing ones are anything finite.
 */
typedef void (*nnacl_matmul_pack_fn)(const nnacl_matmul_params *p, const float *b, int32_t first, int32_t columns,
                                     float *panels);

/* Rows begin .. end - 1 of one matrix of y. */
static inline void nnacl_matmul_multiply_f32(const nnacl_matmul_params *p, const nnacl_tile_method *method,
                                             nnacl_matmul_pack_fn pack, const float *a, const float *b,
                                             const float *bias, float *y, int32_t begin, int32_t end, float *panels) {
    const float *rows[NNACL_TILE_MOST];
    nnacl_tile tile = {.a = rows,
                       .a_step = 1,
                       .taps = 1,
                       .run = p->k,
                       .y_step = p->n,
                       .ends = true,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};
    const int32_t total = nnacl_panel_count(p->n, NNACL_PANEL_F32);
    for (int32_t panel = 0; panel < total;) {
        const int32_t take = nnacl_tile_take(total - panel, method->panels), first = panel * NNACL_PANEL_F32;
        const int32_t rest = p->n - first, width = take * NNACL_PANEL_F32;
        tile.columns = rest < width ? rest : width;
        tile.bias = bias ? bias + first : NULL;
        if (p->transpose_b || tile.columns < width) {
            pack(p, b, first, tile.columns, panels);
            tile.b = panels;
            tile.b_step = NNACL_PANEL_F32;
            tile.panel_step = (ptrdiff_t)p->k * NNACL_PANEL_F32;
        } else { /* the rows of b serve as they lie */
            tile.b = b + first;
            tile.b_step = p->n;
            tile.panel_step = NNACL_PANEL_F32;
        }
        for (int32_t row = begin; row < end; row += method->rows) {
            const int32_t left = end - row, count = left < method->rows ? left : method->rows;
            for (int32_t r = 0; r < count; r++) {
                rows[r] = a + (ptrdiff_t)(row + r) * p->k;
            }
            tile.y = y + (ptrdiff_t)row * p->n + first;
            if (p->m == 1) {
                method->run_vector(&tile);
            } else {
                method->run(&tile, count);
            }
        }
        panel += take;
    }
}

static inline void nnacl_matmul_tiles_f32(const nnacl_ctx *ctx, const nnacl_matmul_params *p, const void *const in[],
                                          void *const out[], const nnacl_tile_method *method,
                                          nnacl_matmul_pack_fn pack) {
    const float *a = in[0], *b = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t row = rows.begin; row < rows.end;) {
        const int32_t batch = row / p->m, begin = row % p->m;
        const int32_t left = rows.end - row, end = left < p->m - begin ? begin + left : p->m;
        nnacl_matmul_multiply_f32(p, method, pack, a + nnacl_matmul_index(p, p->a_strides, batch) * p->m * p->k,
                                  b + nnacl_matmul_index(p, p->b_strides, batch) * p->k * p->n, bias,
                                  y + (ptrdiff_t)batch * p->m * p->n, begin, end, ctx->workspace);
        row += end - begin;
    }
}

#endif
