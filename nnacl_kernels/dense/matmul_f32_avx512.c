/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "common/panels.h"
#include "common/share.h"
#include "dense/dense.h"
#include "dense/matmul_batch.h"

NNACL_DECLARE(nnacl_matmul_f32_avx512);

/* Columns first .. first + columns - 1 of matrix b as panels of 16 in the workspace. */
static void pack_panels(const nnacl_matmul_params *p, const float *b, int32_t first, int32_t columns, float *panels) {
    for (int32_t begin = 0; begin < columns; begin += NNACL_PANEL_F32) {
        const int32_t rest = columns - begin, count = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
        const __mmask16 lanes = nnacl_lanes_avx512(count);
        const ptrdiff_t step = p->transpose_b ? p->k : 1;
        const float *source = b + (first + begin) * step;
        if (!p->transpose_b) {
            for (int32_t i = 0; i < p->k; i++, panels += NNACL_PANEL_F32, source += p->n) {
                _mm512_storeu_ps(panels, _mm512_maskz_loadu_ps(lanes, source));
            }
            continue;
        }
        for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
            for (int32_t i = 0; i < p->k; i++) {
                panels[(ptrdiff_t)i * NNACL_PANEL_F32 + c] = c < count ? source[c * step + i] : 0.0f;
            }
        }
        panels += (ptrdiff_t)p->k * NNACL_PANEL_F32;
    }
}

/* Rows begin .. end - 1 of one matrix of y. */
static void multiply(const nnacl_matmul_params *p, const float *a, const float *b, const float *bias, float *y,
                     int32_t begin, int32_t end, float *panels) {
    const float *rows[NNACL_TILE_ROWS];
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
        const int32_t take = nnacl_tile_take(total - panel), first = panel * NNACL_PANEL_F32;
        const int32_t rest = p->n - first, width = take * NNACL_PANEL_F32;
        tile.columns = rest < width ? rest : width;
        tile.bias = bias ? bias + first : NULL;
        if (p->transpose_b || tile.columns < width) {
            pack_panels(p, b, first, tile.columns, panels);
            tile.b = panels;
            tile.b_step = NNACL_PANEL_F32;
            tile.panel_step = (ptrdiff_t)p->k * NNACL_PANEL_F32;
        } else { /* the rows of b serve as they lie */
            tile.b = b + first;
            tile.b_step = p->n;
            tile.panel_step = NNACL_PANEL_F32;
        }
        for (int32_t row = begin; row < end; row += NNACL_TILE_ROWS) {
            const int32_t left = end - row, count = left < NNACL_TILE_ROWS ? left : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < count; r++) {
                rows[r] = a + (ptrdiff_t)(row + r) * p->k;
            }
            tile.y = y + (ptrdiff_t)row * p->n + first;
            if (p->m == 1) {
                nnacl_tile_run_vector_f32_avx512(&tile);
            } else {
                nnacl_tile_run_f32_avx512(&tile, count);
            }
        }
        panel += take;
    }
}

void nnacl_matmul_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
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
