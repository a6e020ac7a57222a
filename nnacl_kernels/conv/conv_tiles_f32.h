/* SPDX-License-Identifier: Apache-2.0 */
/* The f32 convolution by any of the tiles of tile_f32.h: rows of a matrix that is never written down (conv_rows.h) by
 * panels of weights. */
#ifndef NNACL_CONV_TILES_F32_H
#define NNACL_CONV_TILES_F32_H

#include "common/share.h"
#include "common/tile_f32.h"
#include "conv/conv.h"
#include "conv/conv_rows.h"

/* Floats of a panel that stay in the second-level cache while all rows of a block pass. */
#define NNACL_DEPTH_BLOCK 1536

/* Panels panels.begin .. panels.end - 1 of one group for the listed tiles. `t` has the group's weights, bias and y. */
static inline void nnacl_conv_multiply_f32(const nnacl_tile *group, const nnacl_tile_method *method,
                                           nnacl_conv_rows rows, const float *const *list, int32_t tiles,
                                           nnacl_range block, nnacl_range panels, int32_t positions,
                                           int32_t group_size) {
    nnacl_tile t = *group;
    const int32_t most = NNACL_DEPTH_BLOCK / rows.run > 0 ? NNACL_DEPTH_BLOCK / rows.run : 1;
    const int32_t origin = nnacl_conv_tile_begin(positions, tiles, block.begin);
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel, method->panels), first = panel * NNACL_PANEL_F32;
        const int32_t rest = group_size - first, width = take * NNACL_PANEL_F32;
        t.columns = rest < width ? rest : width;
        t.bias = group->bias ? group->bias + first : NULL;
        for (int32_t tap = 0; tap < rows.taps; tap += most) {
            t.taps = rows.taps - tap < most ? rows.taps - tap : most;
            t.b = group->b + panel * t.panel_step + (ptrdiff_t)tap * rows.run * t.b_step;
            t.adds = tap > 0;
            t.ends = tap + t.taps == rows.taps;
            for (int32_t tile = block.begin; tile < block.end; tile++) {
                const int32_t begin = nnacl_conv_tile_begin(positions, tiles, tile);
                const int32_t count = nnacl_conv_tile_begin(positions, tiles, tile + 1) - begin;
                t.a = list + (ptrdiff_t)(begin - origin) * rows.taps + tap;
                t.y = group->y + begin * t.y_step + first;
                if (positions == 1 && rows.taps == 1) {
                    method->run_vector(&t);
                } else {
                    method->run(&t, count);
                }
            }
        }
        panel += take;
    }
}

/* Some panels for some tiles. */
static inline void nnacl_conv2d_piece_f32(const nnacl_conv2d_params *p, const void *const in[], void *const out[],
                                          void *workspace, nnacl_conv_piece piece, const nnacl_tile_method *method) {
    const float *x = in[0], *packed = in[1], *bias = p->has_bias ? in[2] : NULL;
    const nnacl_conv_rows rows = nnacl_conv_rows_of(p, sizeof(float));
    const int32_t group_in = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const int32_t depth = p->kernel_h * p->kernel_w * group_in;
    const int32_t panel_count = nnacl_panel_count(group_size, NNACL_PANEL_F32);
    const int32_t positions = nnacl_conv_positions(p), tile_count = nnacl_conv_tiles(p, method->rows);
    const nnacl_range tiles = piece.tiles, panels = piece.panels;
    const int32_t most = NNACL_CONV_ROWS / method->rows;
    for (int32_t tile = tiles.begin; tile < tiles.end; tile += most) {
        const nnacl_range block = {tile, tiles.end - tile < most ? tiles.end : tile + most};
        const int32_t first = nnacl_conv_tile_begin(positions, tile_count, block.begin);
        const int32_t count = nnacl_conv_tile_begin(positions, tile_count, block.end) - first;
        for (int32_t group = 0; group < p->groups; group++) {
            nnacl_conv_rows_list(p, rows, (const char *)(x + (ptrdiff_t)group * group_in), first, count, 0, workspace);
            const nnacl_tile t = {.a_step = rows.taps,
                                  .run = rows.run,
                                  .b = packed + (ptrdiff_t)group * panel_count * depth * NNACL_PANEL_F32,
                                  .b_step = NNACL_PANEL_F32,
                                  .panel_step = (ptrdiff_t)depth * NNACL_PANEL_F32,
                                  .bias = bias ? bias + (ptrdiff_t)group * group_size : NULL,
                                  .y = (float *)out[0] + (ptrdiff_t)group * group_size,
                                  .y_step = p->out_c,
                                  .clamp_min = p->clamp_min,
                                  .clamp_max = p->clamp_max};
            nnacl_conv_multiply_f32(&t, method, rows, workspace, tile_count, block, panels, positions, group_size);
        }
    }
}

/* The whole convolution. */
static inline void nnacl_conv2d_tiles_f32(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[],
                                          void *const out[], const nnacl_tile_method *method) {
    const int32_t panels = nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_F32);
    const int32_t tiles = nnacl_conv_tiles(p, method->rows);
    nnacl_conv_piece pieces[3];
    const int32_t count = nnacl_conv_pieces(ctx, tiles, panels, nnacl_conv_chunks(p, tiles, panels), pieces);
    for (int32_t i = 0; i < count; i++) {
        nnacl_conv2d_piece_f32(p, in, out, ctx->workspace, pieces[i], method);
    }
}

#endif
