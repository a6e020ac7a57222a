/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/gemm_f32_avx2.h"
#include "common/vector_f32_avx2.h"
#include "conv/winograd_f32_avx2.h"

static __attribute__((noinline)) void multiply(const float *a, int32_t depth, const float *b, ptrdiff_t panel_step,
                                               float *y, ptrdiff_t y_step, int32_t rows, int32_t panels) {
    nnacl_tile tile = {.depth = depth,
                       .panel_step = 16,
                       .y_step = y_step,
                       .columns = 16,
                       .clamp_min = -INFINITY,
                       .clamp_max = INFINITY};
    for (int32_t r = 0; r < rows; r++) {
        tile.a[r] = a + (ptrdiff_t)r * depth;
    }
    for (int32_t panel = 0; panel < panels; panel++) {
        tile.panel = b + panel * panel_step;
        tile.y = y + (ptrdiff_t)panel * 16;
        nnacl_tile_run(&tile, rows);
    }
}

static const winograd_product product = {multiply, NNACL_TILE_ROWS};

NNACL_DECLARE(nnacl_conv2d_winograd_f32_avx2);

static void winograd_2(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[]) {
    winograd(ctx, p, in, out, 2, product);
}

static void winograd_4(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[]) {
    winograd(ctx, p, in, out, 4, product);
}

void nnacl_conv2d_winograd_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    if (nnacl_winograd_of(params, NNACL_TILE_ROWS, LANES).unit == 2) {
        winograd_2(ctx, params, in, out);
    } else {
        winograd_4(ctx, params, in, out);
    }
}
