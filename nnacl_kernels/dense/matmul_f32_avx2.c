/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx2.h"
#include "common/panels.h"
#include "common/share.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

NNACL_DECLARE(nnacl_matmul_f32_avx2);

/* Columns first .. first + columns - 1 of matrix b as a panel in the workspace. */
static void pack_panel(const nnacl_matmul_params *p, const float *b, int32_t first, int32_t columns, float *panel) {
    for (int32_t i = 0; i < p->k; i++) {
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            const ptrdiff_t column = first + c;
            const ptrdiff_t index = p->transpose_b ? column * p->k + i : (ptrdiff_t)i * p->n + column;
            *panel++ = c < columns ? b[index] : 0.0f;
        }
    }
}

/* Rows begin .. end - 1 of one matrix of y. */
static void multiply(const nnacl_matmul_params *p, const float *a, const float *b, const float *bias, float *y,
                     int32_t begin, int32_t end, float *panel) {
    nnacl_tile tile = {.depth = p->k, .y_step = p->n, .clamp_min = p->clamp_min, .clamp_max = p->clamp_max};
    for (int32_t first = 0; first < p->n; first += NNACL_PANEL_F32) {
        const int32_t rest = p->n - first;
        tile.columns = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
        tile.bias = bias ? bias + first : NULL;
        if (p->transpose_b || tile.columns < NNACL_PANEL_F32) {
            pack_panel(p, b, first, tile.columns, panel);
            tile.panel = panel;
            tile.panel_step = NNACL_PANEL_F32;
        } else { /* the rows of b serve as they lie */
            tile.panel = b + first;
            tile.panel_step = p->n;
        }
        for (int32_t row = begin; row < end; row += NNACL_TILE_ROWS) {
            const int32_t left = end - row, count = left < NNACL_TILE_ROWS ? left : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < count; r++) {
                tile.a[r] = a + (ptrdiff_t)(row + r) * p->k;
            }
            tile.y = y + (ptrdiff_t)row * p->n + first;
            if (p->m == 1) {
                nnacl_tile_run_vector(&tile);
            } else {
                nnacl_tile_run(&tile, count);
            }
        }
    }
}

void nnacl_matmul_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_matmul_params *p = params;
    const float *a = in[0], *b = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];

    const nnacl_range rows = nnacl_share(ctx, nnacl_matmul_batches(p) * p->m);
    for (int32_t row = rows.begin; row < rows.end;) {
        const int32_t batch = row / p->m, begin = row % p->m;
        const int32_t left = rows.end - row, end = left < p->m - begin ? begin + left : p->m;
        multiply(p, a + nnacl_matmul_index(p, p->a_strides, batch) * p->m * p->k,
                 b + nnacl_matmul_index(p, p->b_strides, batch) * p->k * p->n, bias, y + (ptrdiff_t)batch * p->m * p->n,
                 begin, end, ctx->workspace);
        row += end - begin;
    }
}
