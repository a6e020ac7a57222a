/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_neon.h"
#include "common/vector_f32_neon.h"
#include "conv/winograd_f32_avx2.h"

static __attribute__((noinline)) void multiply(const float *a, int32_t depth, const float *b, ptrdiff_t panel_step,
                                               float *y, ptrdiff_t y_step, int32_t rows, int32_t panels) {
    const float *list[NNACL_TILE_ROWS];
    for (int32_t r = 0; r < rows; r++) {
        list[r] = a + (ptrdiff_t)r * depth;
    }
    nnacl_tile tile = {.a = list,
                       .a_step = 1,
                       .taps = 1,
                       .run = depth,
                       .b_step = NNACL_PANEL_F32,
                       .panel_step = panel_step,
                       .y_step = y_step,
                       .columns = NNACL_PANEL_F32};
    for (int32_t panel = 0; panel < panels; panel++) {
        tile.b = b + panel * panel_step;
        tile.y = y + (ptrdiff_t)panel * NNACL_PANEL_F32;
        nnacl_tile_run_f32_neon(&tile, rows);
    }
}

static const winograd_product product = {multiply, NNACL_TILE_ROWS};

NNACL_DECLARE(nnacl_conv2d_winograd_f32_neon);

static void winograd_2(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[]) {
    winograd(ctx, p, in, out, 2, product);
}

static void winograd_4(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[]) {
    winograd(ctx, p, in, out, 4, product);
}

void nnacl_conv2d_winograd_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    if (nnacl_winograd_of(params, NNACL_TILE_ROWS, LANES).unit == 2) {
        winograd_2(ctx, params, in, out);
    } else {
        winograd_4(ctx, params, in, out);
    }
}
