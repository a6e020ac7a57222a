/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/gemm_f32_avx2.h"
#include "common/share.h"
#include "volume/volume_panels.h"
#include "volume/volume_walk.h"

NNACL_DECLARE(nnacl_conv_transpose_f32_avx2);

/* What the output positions of one row and one class have in common. */
typedef struct line {
    const nnacl_conv_nd_params *p;
    const float *x; /* channel 0 of the group */
    nnacl_volume_row at;
    int32_t residue[3];
    int32_t channels, depth;
} line;

/* Copies what meets in one output position to `patch` [kernel positions of the class][channels], zeros outside. */
static void copy_patch(const line *l, int32_t column, float *patch) {
    const nnacl_conv_nd_params *p = l->p;
    for (int32_t kz = 0; kz < p->kernel[0]; kz++) {
        if ((int64_t)kz * p->dilation[0] % p->stride[0] != l->residue[0]) {
            continue;
        }
        const int32_t z = nnacl_transposed_source(p, 0, l->at.depth, kz);
        for (int32_t ky = 0; ky < p->kernel[1]; ky++) {
            if ((int64_t)ky * p->dilation[1] % p->stride[1] != l->residue[1]) {
                continue;
            }
            const int32_t y = nnacl_transposed_source(p, 1, l->at.height, ky);
            for (int32_t kx = 0; kx < p->kernel[2]; kx++) {
                if ((int64_t)kx * p->dilation[2] % p->stride[2] != l->residue[2]) {
                    continue;
                }
                const int32_t from = nnacl_transposed_source(p, 2, column, kx);
                if (z < 0 || y < 0 || from < 0) {
                    memset(patch, 0, (size_t)l->channels * sizeof *patch);
                } else {
                    memcpy(patch, l->x + nnacl_volume_input(p, l->at.batch, z, y, from),
                           (size_t)l->channels * sizeof *patch);
                }
                patch += l->channels;
            }
        }
    }
}

/* The output positions of one row, group and class. */
static void compute_line(const line *l, const float *packed, const float *bias, float *y, float *patches) {
    const nnacl_conv_nd_params *p = l->p;
    const int32_t width = p->out_c / p->groups, stride = p->stride[2];
    const int32_t panels = nnacl_panel_count(width, NNACL_PANEL_F32);
    nnacl_tile tile = {.depth = l->depth,
                       .panel_step = NNACL_PANEL_F32,
                       .y_step = (ptrdiff_t)stride * p->out_c,
                       .clamp_min = p->clamp_min,
                       .clamp_max = p->clamp_max};
    for (int32_t r = 0; r < NNACL_TILE_ROWS; r++) {
        tile.a[r] = patches + (ptrdiff_t)r * l->depth;
    }
    const int32_t first = ((l->residue[2] - p->pad_before[2]) % stride + stride) % stride;
    const int32_t count = first < p->out_size[2] ? (p->out_size[2] - 1 - first) / stride + 1 : 0;
    for (int32_t done = 0; done < count; done += NNACL_TILE_ROWS) {
        const int32_t rows = count - done < NNACL_TILE_ROWS ? count - done : NNACL_TILE_ROWS;
        for (int32_t r = 0; r < rows; r++) {
            copy_patch(l, first + (done + r) * stride, patches + (ptrdiff_t)r * l->depth);
        }
        for (int32_t panel = 0; panel < panels; panel++) {
            const int32_t channel = panel * NNACL_PANEL_F32, rest = width - channel;
            tile.panel = packed + (ptrdiff_t)panel * l->depth * NNACL_PANEL_F32;
            tile.bias = bias ? bias + channel : NULL;
            tile.y = y + (ptrdiff_t)(first + done * stride) * p->out_c + channel;
            tile.columns = rest < NNACL_PANEL_F32 ? rest : NNACL_PANEL_F32;
            nnacl_tile_run(&tile, rows);
        }
    }
}

void nnacl_conv_transpose_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const float *bias = p->has_bias ? in[2] : NULL;
    const int32_t channels = p->in_c / p->groups, width = p->out_c / p->groups;
    const ptrdiff_t columns = (ptrdiff_t)nnacl_panel_count(width, NNACL_PANEL_F32) * NNACL_PANEL_F32;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        line l = {.p = p, .at = nnacl_volume_row_at(p, row), .channels = channels};
        l.residue[0] = (l.at.depth + p->pad_before[0]) % p->stride[0];
        l.residue[1] = (l.at.height + p->pad_before[1]) % p->stride[1];
        for (l.residue[2] = 0; l.residue[2] < p->stride[2]; l.residue[2]++) {
            const nnacl_volume_class class = nnacl_volume_class_of(p, l.residue);
            l.depth = class.taps[0] * class.taps[1] * class.taps[2] * channels;
            for (int32_t group = 0; group < p->groups; group++) {
                const float *packed = (const float *)in[1] + (ptrdiff_t)group * (ptrdiff_t)nnacl_volume_group_size(p) +
                                      (ptrdiff_t) class.before * channels * columns;
                l.x = (const float *)in[0] + group * channels;
                compute_line(&l, packed, bias ? bias + group * width : NULL,
                             (float *)out[0] + (ptrdiff_t)row * p->out_size[2] * p->out_c + group * width,
                             ctx->workspace);
            }
        }
    }
}
