/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d of s8 as a product of matrices, for whoever has included a tile of quads, such as common/gemm_s8_vnni.h. */
#ifndef NNACL_SIMD_CONV2D_QUADS_H
#define NNACL_SIMD_CONV2D_QUADS_H

#include "common/share.h"
#include "conv/conv.h"
#include "conv/conv_rows.h"

/* Panels panels.begin .. panels.end - 1 of one group, whose first output channel is `channel`, for the listed tiles. */
static void multiply(const nnacl_conv2d_params *p, const nnacl_tile *group, const void *requant, int32_t channel,
                     int32_t tiles, nnacl_range block, nnacl_range panels) {
    nnacl_tile t = *group;
    nnacl_requant_lanes lanes[NNACL_TILE_PANELS * NNACL_TILE_VECTORS];
    const int32_t positions = nnacl_conv_positions(p), group_size = p->out_c / p->groups;
    const int32_t origin = nnacl_conv_tile_begin(positions, tiles, block.begin);
    t.requant = lanes;
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel), first = panel * NNACL_PANEL_QUAD;
        const int32_t rest = group_size - first, width = take * NNACL_PANEL_QUAD;
        t.columns = rest < width ? rest : width;
        t.bias = group->bias ? group->bias + first : NULL;
        t.b = group->b + panel * t.panel_step;
        nnacl_tile_requant(lanes, requant, p->out_c, channel + first, t.columns, p->rounding, p->y_zero, p->q_min,
                           p->q_max);
        for (int32_t tile = block.begin; tile < block.end; tile++) {
            const int32_t begin = nnacl_conv_tile_begin(positions, tiles, tile);
            t.a = group->a + (ptrdiff_t)(begin - origin) * t.taps;
            t.y = group->y + begin * t.y_step + first;
            nnacl_tile_run(&t, nnacl_conv_tile_begin(positions, tiles, tile + 1) - begin);
        }
        panel += take;
    }
}

static void run(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[],
                nnacl_range tiles, nnacl_range panels) {
    const int8_t *x = in[0], *packed = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const nnacl_conv_rows rows = nnacl_conv_rows_of(p, sizeof(int8_t));
    const int32_t group_in = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const int32_t depth = p->kernel_h * p->kernel_w * group_in;
    const int32_t positions = nnacl_conv_positions(p), tile_count = nnacl_conv_tiles(p, NNACL_TILE_ROWS);
    const int32_t most = NNACL_CONV_ROWS / NNACL_TILE_ROWS;
    for (int32_t tile = tiles.begin; tile < tiles.end; tile += most) {
        const nnacl_range block = {tile, tiles.end - tile < most ? tiles.end : tile + most};
        const int32_t first = nnacl_conv_tile_begin(positions, tile_count, block.begin);
        const int32_t count = nnacl_conv_tile_begin(positions, tile_count, block.end) - first;
        for (int32_t group = 0; group < p->groups; group++) {
            const int32_t channel = group * group_size;
            nnacl_conv_rows_list(p, rows, (const char *)(x + (ptrdiff_t)group * group_in), first, count, p->x_zero,
                                 ctx->workspace);
            const nnacl_tile t = {.a = ctx->workspace,
                                  .a_step = rows.taps,
                                  .taps = rows.taps,
                                  .run = rows.run,
                                  .b = packed + (ptrdiff_t)(group * nnacl_panels_quad_size(group_size, depth)),
                                  .panel_step = (ptrdiff_t)nnacl_panel_quad_size(depth),
                                  .bias = bias ? bias + channel : NULL,
                                  .y = (int8_t *)out[0] + channel,
                                  .y_step = p->out_c};
            multiply(p, &t, in[3], channel, tile_count, block, panels);
        }
    }
}

static void conv2d_quads(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t panels = nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_QUAD);
    const int32_t tiles = nnacl_conv_tiles(p, NNACL_TILE_ROWS);
    nnacl_conv_piece pieces[3];
    const int32_t count = nnacl_conv_pieces(ctx, tiles, panels, nnacl_conv_chunks(p, tiles, panels), pieces);
    for (int32_t i = 0; i < count; i++) {
        run(ctx, p, in, out, pieces[i].tiles, pieces[i].panels);
    }
}

#endif
