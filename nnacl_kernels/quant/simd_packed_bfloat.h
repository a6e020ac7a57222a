/* SPDX-License-Identifier: Apache-2.0 */
/* Layers on bfloat16 as a product of matrices, for whoever has included a tile such as
 * common/gemm_bfloat_avx512bf16.h: windows are written down rounded, some at a time, and multiplied by all panels. */
#ifndef NNACL_SIMD_PACKED_BFLOAT_H
#define NNACL_SIMD_PACKED_BFLOAT_H

#include "common/panels_bfloat.h"
#include "quant/packed_bfloat.h"

/* Writes the windows of positions first .. first + count - 1 to `rows`; `copy` has room for a window of floats. */
static void round_windows(const nnacl_packed_layer *p, const float *x, int32_t first, int32_t count, int32_t depth,
                          float *copy, char *rows) {
    const int32_t bytes = nnacl_bfloat_row(depth);
    nnacl_packed_place place = nnacl_packed_place_at(p, first);
    for (int32_t i = 0; i < count; i++, rows += bytes) {
        const float *window = copy;
        if (nnacl_packed_is_pixels(p)) {
            window = x + (ptrdiff_t)(first + i) * depth;
        } else {
            nnacl_packed_gather(p, x, sizeof(float), place, 0, copy);
            nnacl_packed_next(p, &place);
        }
        uint16_t *row = (uint16_t *)(void *)rows;
        nnacl_bfloat_round(window, depth, row);
        if (depth % 2 != 0) {
            row[depth] = 0;
        }
    }
}

/* `count` rows with panels panels.begin .. panels.end - 1. */
static void multiply_rows(const nnacl_packed_layer *p, const char *rows, int32_t count, int32_t depth,
                          const int8_t *packed, const float *bias, nnacl_range panels, float *y) {
    const int8_t *list[NNACL_TILE_ROWS];
    const nnacl_requant_lanes clamp = {p->clamp_min, p->clamp_max};
    nnacl_tile t = {.a = list,
                    .a_step = 1,
                    .taps = 1,
                    .run = nnacl_bfloat_row(depth),
                    .panel_step = (ptrdiff_t)nnacl_panel_bfloat_size(depth),
                    .requant = &clamp,
                    .y_step = p->out_c};
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel), first = panel * NNACL_PANEL_BFLOAT;
        const int32_t rest = p->out_c - first, width = take * NNACL_PANEL_BFLOAT;
        t.columns = rest < width ? rest : width;
        t.bias = bias ? (const int32_t *)(const void *)(bias + first) : NULL;
        t.b = packed + panel * t.panel_step;
        for (int32_t done = 0; done < count; done += NNACL_TILE_ROWS) {
            const int32_t left = count - done, tile = left < NNACL_TILE_ROWS ? left : NNACL_TILE_ROWS;
            for (int32_t r = 0; r < tile; r++) {
                list[r] = (const int8_t *)rows + (ptrdiff_t)(done + r) * t.run;
            }
            t.y = y + (ptrdiff_t)done * p->out_c + first;
            nnacl_tile_run(&t, tile);
        }
        panel += take;
    }
}

/* This part of the work. */
static void packed_bfloat(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, positions = p->batch * p->out_h * p->out_w;
    const int32_t block = nnacl_packed_bfloat_windows(depth);
    nnacl_range all, panels;
    nnacl_packed_block_share(ctx, positions, p->out_c, &all, &panels);
    float *copy = ctx->workspace;
    char *rows = (char *)ctx->workspace + nnacl_packed_bfloat_copy(p, depth);
    for (int32_t first = all.begin; first < all.end && panels.begin < panels.end; first += block) {
        const int32_t count = all.end - first < block ? all.end - first : block;
        round_windows(p, in[0], first, count, depth, copy, rows);
        multiply_rows(p, rows, count, depth, in[1], p->has_bias ? in[2] : NULL, panels,
                      y + (ptrdiff_t)first * p->out_c);
    }
}

#endif
