/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "common/panels.h"
#include "common/share.h"
#include "conv/conv.h"
#include "conv/conv_rows.h"

NNACL_DECLARE(nnacl_conv2d_f32_avx512);

/* Floats of a panel that stay in the second-level cache while all rows of a block pass. */
#define DEPTH_BLOCK 1536

/* Panels panels.begin .. panels.end - 1 of one group for the listed tiles. `t` has the group's weights, bias and y. */
static void multiply(const nnacl_tile *group, nnacl_conv_rows rows, const float *const *list, int32_t tiles,
                     nnacl_range block, nnacl_range panels, int32_t positions, int32_t group_size) {
    nnacl_tile t = *group;
    const int32_t most = DEPTH_BLOCK / rows.run > 0 ? DEPTH_BLOCK / rows.run : 1;
    const int32_t origin = nnacl_conv_tile_begin(positions, tiles, block.begin);
    for (int32_t panel = panels.begin; panel < panels.end;) {
        const int32_t take = nnacl_tile_take(panels.end - panel), first = panel * NNACL_PANEL_F32;
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
                    nnacl_tile_run_vector_f32_avx512(&t);
                } else {
                    nnacl_tile_run_f32_avx512(&t, count);
                }
            }
        }
        panel += take;
    }
}

static void run(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[],
                nnacl_range tiles, nnacl_range panels) {
    const float *x = in[0], *packed = in[1], *bias = p->has_bias ? in[2] : NULL;
    const nnacl_conv_rows rows = nnacl_conv_rows_of(p, sizeof(float));
    const int32_t group_in = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const int32_t depth = p->kernel_h * p->kernel_w * group_in;
    const int32_t panel_count = nnacl_panel_count(group_size, NNACL_PANEL_F32);
    const int32_t positions = nnacl_conv_positions(p), tile_count = nnacl_conv_tiles(p, NNACL_TILE_ROWS);
    const int32_t most = NNACL_CONV_ROWS / NNACL_TILE_ROWS;
    for (int32_t tile = tiles.begin; tile < tiles.end; tile += most) {
        const nnacl_range block = {tile, tiles.end - tile < most ? tiles.end : tile + most};
        const int32_t first = nnacl_conv_tile_begin(positions, tile_count, block.begin);
        const int32_t count = nnacl_conv_tile_begin(positions, tile_count, block.end) - first;
        for (int32_t group = 0; group < p->groups; group++) {
            nnacl_conv_rows_list(p, rows, (const char *)(x + (ptrdiff_t)group * group_in), first, count, 0,
                                 ctx->workspace);
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
            multiply(&t, rows, ctx->workspace, tile_count, block, panels, positions, group_size);
        }
    }
}

void nnacl_conv2d_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t panels = nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_F32);
    const int32_t tiles = nnacl_conv_tiles(p, NNACL_TILE_ROWS);
    nnacl_conv_piece pieces[3];
    const int32_t count = nnacl_conv_pieces(ctx, tiles, panels, nnacl_conv_chunks(p, tiles, panels), pieces);
    for (int32_t i = 0; i < count; i++) {
        run(ctx, p, in, out, pieces[i].tiles, pieces[i].panels);
    }
}
