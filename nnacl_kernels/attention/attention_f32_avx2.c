/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx2.h"
#include "common/panels.h"
#include "common/vector_f32_avx2.h"

#include "attention/attention_f32_avx2.h"

NNACL_DECLARE(nnacl_attention_f32_avx2);

static void multiply(const attention_product *product) {
    nnacl_tile tile = {.depth = product->depth,
                       .panel = product->b,
                       .panel_step = product->b_step,
                       .y_step = product->y_step,
                       .columns = product->columns,
                       .clamp_min = -INFINITY,
                       .clamp_max = INFINITY};
    for (int32_t row = 0; row < product->rows; row += NNACL_TILE_ROWS) {
        const int32_t count = nnacl_least(product->rows - row, NNACL_TILE_ROWS);
        for (int32_t r = 0; r < count; r++) {
            tile.a[r] = product->a + (row + r) * product->a_step;
        }
        tile.y = product->y + row * product->y_step;
        nnacl_tile_run(&tile, count);
    }
}

static void pack_keys(const nnacl_query *query, int32_t size, int32_t j, int32_t count, float *panel) {
    for (int32_t c = 0; c < NNACL_PANEL_F32; c++) {
        const float *k = query->k + (j + (c < count ? c : 0)) * query->k_step;
        for (int32_t d = 0; d < size; d++) {
            panel[d * NNACL_PANEL_F32 + c] = k[d];
        }
    }
}

void nnacl_attention_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const attention_method method = {1, multiply, pack_keys};
    attention(ctx, params, in, out, method);
}
