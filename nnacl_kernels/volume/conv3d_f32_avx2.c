/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/gemm_f32_avx2.h"
#include "common/share.h"
#include "common/window.h"
#include "volume/volume_panels.h"
#include "volume/volume_walk.h"

NNACL_DECLARE(nnacl_conv3d_f32_avx2);

/* Copies the input window of one output position and group to `patch` [kernel..][depth], zeros outside. */
static void copy_patch(const nnacl_conv_nd_params *p, const float *x, nnacl_volume_row at, int32_t column,
                       int32_t depth, float *patch) {
    const int32_t position[3] = {at.depth, at.height, column};
    nnacl_window along[3];
    for (int32_t i = 0; i < 3; i++) {
        along[i] =
            nnacl_window_at(position[i], p->stride[i], p->pad_before[i], p->dilation[i], p->kernel[i], p->in_size[i]);
    }
    for (int32_t kz = 0; kz < p->kernel[0]; kz++) {
        for (int32_t ky = 0; ky < p->kernel[1]; ky++) {
            const bool inside = kz >= along[0].begin && kz < along[0].end && ky >= along[1].begin && ky < along[1].end;
            for (int32_t kx = 0; kx < p->kernel[2]; kx++, patch += depth) {
                if (!inside || kx < along[2].begin || kx >= along[2].end) {
                    memset(patch, 0, (size_t)depth * sizeof *patch);
                    continue;
                }
                const ptrdiff_t from =
                    nnacl_volume_input(p, at.batch, along[0].origin + kz * p->dilation[0],
                                       along[1].origin + ky * p->dilation[1], along[2].origin + kx * p->dilation[2]);
                memcpy(patch, x + from, (size_t)depth * sizeof *patch);
            }
        }
    }
}

void nnacl_conv3d_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const float *x = in[0], *bias = p->has_bias ? in[2] : NULL;
    float *patches = ctx->workspace;
    const int32_t channels = p->in_c / p->groups, width = p->out_c / p->groups;
    const int32_t depth = p->kernel[0] * p->kernel[1] * p->kernel[2] * channels;
    const int32_t panels = nnacl_panel_count(width, NNACL_PANEL_F32);
    nnacl_tile tile = {.depth = depth,
                       .panel_step = NNACL_PANEL_F32,
                       .y_step = p->out_c,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};
    for (int32_t r = 0; r < NNACL_TILE_ROWS; r++) {
        tile.a[r] = patches + (ptrdiff_t)r * depth;
    }
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const nnacl_volume_row at = nnacl_volume_row_at(p, row);
        for (int32_t column = 0; column < p->out_size[2]; column += NNACL_TILE_ROWS) {
            const int32_t rest = p->out_size[2] - column, count = rest < NNACL_TILE_ROWS ? rest : NNACL_TILE_ROWS;
            for (int32_t group = 0; group < p->groups; group++) {
                const float *packed = (const float *)in[1] + (ptrdiff_t)group * (ptrdiff_t)nnacl_volume_group_size(p);
                for (int32_t r = 0; r < count; r++) {
                    copy_patch(p, x + group * channels, at, column + r, channels, patches + (ptrdiff_t)r * depth);
                }
                for (int32_t panel = 0; panel < panels; panel++) {
                    const int32_t first = group * width + panel * NNACL_PANEL_F32;
                    const int32_t left = width - panel * NNACL_PANEL_F32;
                    tile.panel = packed + (ptrdiff_t)panel * depth * NNACL_PANEL_F32;
                    tile.bias = bias ? bias + first : NULL;
                    tile.y = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c + first;
                    tile.columns = left < NNACL_PANEL_F32 ? left : NNACL_PANEL_F32;
                    nnacl_tile_run(&tile, count);
                }
            }
        }
    }
}
