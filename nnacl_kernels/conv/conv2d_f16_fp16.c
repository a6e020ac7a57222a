/* SPDX-License-Identifier: Apache-2.0 */
#include "common/panels.h"
#include "common/share.h"
#include "common/tile_f16_fp16.h"
#include "conv/conv.h"
#include "conv/conv_rows.h"

NNACL_DECLARE(nnacl_conv2d_f16_fp16);

/* Positions begin .. begin + count - 1 of one group, whose rows are listed, for some panels. */
static void multiply(nnacl_tile_f16 t, nnacl_range panels, int32_t begin, int32_t count, int32_t group_size) {
    const float16_t *packed = t.panel;
    const float *bias = t.bias;
    float16_t *y = t.y + begin * t.y_step;
    const ptrdiff_t size = (ptrdiff_t)t.taps * t.run * NNACL_PANEL_F16;
    const float16_t *const *list = t.a;
    for (int32_t panel = panels.begin; panel < panels.end; panel++) {
        const int32_t first = panel * NNACL_PANEL_F16, rest = group_size - first;
        t.panel = packed + panel * size;
        t.bias = bias ? bias + first : NULL;
        t.columns = rest < NNACL_PANEL_F16 ? rest : NNACL_PANEL_F16;
        for (int32_t row = 0; row < count; row += NNACL_CONV_TILE_F16) {
            const int32_t left = count - row;
            t.a = list + (ptrdiff_t)row * t.a_step;
            t.y = y + row * t.y_step + first;
            nnacl_tile_run_f16(&t, left < NNACL_CONV_TILE_F16 ? left : NNACL_CONV_TILE_F16);
        }
    }
}

/* Some panels for some tiles. */
static void run(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const void *const in[], void *const out[],
                nnacl_range tiles, nnacl_range panels) {
    const nnacl_conv_rows rows = nnacl_conv_rows_of(p, sizeof(float16_t));
    const int32_t group_in = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const ptrdiff_t group_panels =
        (ptrdiff_t)nnacl_panel_count(group_size, NNACL_PANEL_F16) * rows.taps * rows.run * NNACL_PANEL_F16;
    const int32_t positions = nnacl_conv_positions(p), tile_count = nnacl_conv_tiles(p, NNACL_CONV_TILE_F16);
    const int32_t end = nnacl_conv_tile_begin(positions, tile_count, tiles.end);
    int32_t count;
    for (int32_t first = nnacl_conv_tile_begin(positions, tile_count, tiles.begin); first < end; first += count) {
        count = end - first < NNACL_CONV_ROWS ? end - first : NNACL_CONV_ROWS;
        for (int32_t group = 0; group < p->groups; group++) {
            const float16_t *image = (const float16_t *)in[0] + (ptrdiff_t)group * group_in;
            nnacl_conv_rows_list(p, rows, (const char *)image, first, count, 0, ctx->workspace);
            const nnacl_tile_f16 t = {.a = ctx->workspace,
                                      .a_step = rows.taps,
                                      .taps = rows.taps,
                                      .run = rows.run,
                                      .panel = (const float16_t *)in[1] + group * group_panels,
                                      .bias = p->has_bias ? (const float *)in[2] + group * group_size : NULL,
                                      .y = (float16_t *)out[0] + group * group_size,
                                      .y_step = p->out_c,
                                      .clamp_min = p->clamp_min,
                                      .clamp_max = p->clamp_max};
            multiply(t, panels, first, count, group_size);
        }
    }
}

void nnacl_conv2d_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t panels = nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_F16);
    const int32_t tiles = nnacl_conv_tiles(p, NNACL_CONV_TILE_F16);
    nnacl_conv_piece pieces[3];
    const int32_t count = nnacl_conv_pieces(ctx, tiles, panels, nnacl_conv_chunks(p, tiles, panels), pieces);
    for (int32_t i = 0; i < count; i++) {
        run(ctx, p, in, out, pieces[i].tiles, pieces[i].panels);
    }
}
