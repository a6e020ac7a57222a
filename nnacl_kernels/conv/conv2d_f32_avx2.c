/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/gemm_f32_avx2.h"
#include "common/panels.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"
#include "conv/conv_rows.h"

NNACL_DECLARE(nnacl_conv2d_f32_avx2);

/* Copies the input window of one output position and group to `patch` [kernel_h][kernel_w][depth], zeros outside.
 * Neighbours in a row of the kernel that are neighbours in memory are copied at once. */
static void copy_patch(const nnacl_conv2d_params *p, const float *image, const nnacl_window *tall, int32_t column,
                       int32_t depth, float *patch) {
    const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
    const int32_t width = p->kernel_w * depth, before = wide.begin * depth, inside = (wide.end - wide.begin) * depth;
    const int32_t run = p->dilation_w == 1 && p->groups == 1 ? inside : depth;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, patch += width) {
        if (ky < tall->begin || ky >= tall->end) {
            memset(patch, 0, (size_t)width * sizeof *patch);
            continue;
        }
        const ptrdiff_t iy = tall->origin + ky * p->dilation_h, ix = wide.origin + wide.begin * p->dilation_w;
        const float *a = image + (iy * p->in_w + ix) * p->in_c;
        memset(patch, 0, (size_t)before * sizeof *patch);
        for (int32_t done = 0; done < inside; done += run) {
            memcpy(patch + before + done, a, (size_t)run * sizeof *patch);
            a += (ptrdiff_t)p->dilation_w * p->in_c;
        }
        memset(patch + before + inside, 0, (size_t)(width - before - inside) * sizeof *patch);
    }
}

void nnacl_conv2d_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const float *x = in[0], *packed = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *patches = ctx->workspace;
    float *y = out[0];
    const int32_t channels = p->in_c / p->groups, group_size = p->out_c / p->groups;
    const int32_t depth = p->kernel_h * p->kernel_w * channels;
    const ptrdiff_t panel_size = (ptrdiff_t)depth * NNACL_PANEL_F32;
    const int32_t panels = nnacl_panel_count(group_size, NNACL_PANEL_F32);
    /* A 1 x 1 kernel without padding reads the input as it lies. */
    const bool pointwise = p->kernel_h == 1 && p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 &&
                           p->pad_bottom == 0 && p->pad_right == 0;

    nnacl_tile tile = {.depth = depth,
                       .panel_step = NNACL_PANEL_F32,
                       .y_step = p->out_c,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};
    const int32_t positions = nnacl_conv_positions(p), tile_count = nnacl_conv_tiles(p, NNACL_TILE_ROWS);
    const nnacl_range tiles = nnacl_share(ctx, tile_count);
    for (int32_t index = tiles.begin; index < tiles.end; index++) {
        const int32_t begin = nnacl_conv_tile_begin(positions, tile_count, index);
        const int32_t count = nnacl_conv_tile_begin(positions, tile_count, index + 1) - begin;
        for (int32_t group = 0; group < p->groups; group++) {
            for (int32_t r = 0; r < count; r++) {
                const int32_t row = (begin + r) / p->out_w, column = (begin + r) % p->out_w;
                const float *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * p->in_c + group * channels;
                const nnacl_window tall =
                    nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
                if (pointwise) {
                    const ptrdiff_t position = (ptrdiff_t)tall.origin * p->in_w + (ptrdiff_t)column * p->stride_w;
                    tile.a[r] = image + position * p->in_c;
                } else {
                    float *patch = patches + (ptrdiff_t)r * depth;
                    copy_patch(p, image, &tall, column, channels, patch);
                    tile.a[r] = patch;
                }
            }
            for (int32_t panel = 0; panel < panels; panel++) {
                const int32_t first = group * group_size + panel * NNACL_PANEL_F32;
                const int32_t rest = group_size - panel * NNACL_PANEL_F32;
                tile.panel = packed + ((ptrdiff_t)group * panels + panel) * panel_size;
                tile.bias = bias ? bias + first : NULL;
                tile.y = y + (ptrdiff_t)begin * p->out_c + first;
                tile.columns = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
                if (positions == 1) {
                    nnacl_tile_run_vector(&tile);
                } else {
                    nnacl_tile_run(&tile, count);
                }
            }
        }
    }
}
