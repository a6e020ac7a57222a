/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of conv2d for inputs of few channels, which the first layer of a network has, for the vectors of AVX2 or
 * of whatever vector_f32_*.h was included before. The lines of the input that an output row needs are copied with their
 * padding; a window is then one run in each line, and neighbours lie at a constant distance. */
#ifndef NNACL_CONV_FEW_F32_AVX2_H
#define NNACL_CONV_FEW_F32_AVX2_H

#ifndef LANES
#include "common/vector_f32_avx2.h"
#endif
#include <string.h>

#include "common/panels.h"
#include "common/share.h"
#include "conv/conv_few.h"

#define FEW_VECTORS (NNACL_PANEL_F32 / LANES) /* of a panel */
#define FEW_COLUMNS (LANES / 2 < 6 ? 6 : 8)   /* of a tile */
#define FEW_PANELS (LANES < 16 ? 1 : 2)

/* An output row. */
typedef struct few_row {
    const nnacl_conv2d_params *p;
    const float *lines; /* kernel_h of them */
    ptrdiff_t line_step;
    const float *weights, *bias;
    float *y;
} few_row;

/* Some panels of up to FEW_COLUMNS neighbours. */
NNACL_ALWAYS_INLINE void few_tile(const few_row *row, int32_t column, int32_t panel, const int32_t panels,
                                  const int32_t columns) {
    const nnacl_conv2d_params *p = row->p;
    const int32_t run = p->kernel_w * p->in_c, step = p->stride_w * p->in_c, first = panel * NNACL_PANEL_F32;
    const ptrdiff_t panel_step = (ptrdiff_t)p->kernel_h * run * NNACL_PANEL_F32;
    const float *a = row->lines + (ptrdiff_t)column * step, *b = row->weights + panel * panel_step;
    vector sums[FEW_COLUMNS][FEW_PANELS * FEW_VECTORS];
#pragma GCC unroll 2
    for (int32_t v = 0; v < panels * FEW_VECTORS; v++) {
        const vector_lanes lanes = lanes_of(p->out_c - first - v * LANES);
        const vector start = row->bias ? load(row->bias + first + v * LANES, lanes) : spread(0.0f);
#pragma GCC unroll 8
        for (int32_t c = 0; c < columns; c++) {
            sums[c][v] = start;
        }
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++, a += row->line_step) {
        for (int32_t i = 0; i < run; i++, b += NNACL_PANEL_F32) {
            vector right[FEW_PANELS * FEW_VECTORS];
#pragma GCC unroll 2
            for (int32_t v = 0; v < panels * FEW_VECTORS; v++) {
                right[v] = load_all(b + v / FEW_VECTORS * panel_step + v % FEW_VECTORS * LANES);
            }
#pragma GCC unroll 8
            for (int32_t c = 0; c < columns; c++) {
                const vector left = spread(a[i + c * step]);
#pragma GCC unroll 2
                for (int32_t v = 0; v < panels * FEW_VECTORS; v++) {
                    sums[c][v] = madd(left, right[v], sums[c][v]);
                }
            }
        }
    }
    const vector low = spread(p->clamp_min), high = spread(p->clamp_max);
    float *y = row->y + (ptrdiff_t)column * p->out_c + first;
#pragma GCC unroll 2
    for (int32_t v = 0; v < panels * FEW_VECTORS; v++) {
        const vector_lanes lanes = lanes_of(p->out_c - first - v * LANES);
#pragma GCC unroll 8
        for (int32_t c = 0; c < columns; c++) {
            if (p->out_c > first + v * LANES) {
                store(y + (ptrdiff_t)c * p->out_c + v * LANES, lanes, clamp(sums[c][v], low, high));
            }
        }
    }
}

/* The last tile of a row may repeat some columns of the one before. */
NNACL_ALWAYS_INLINE void few_tiles(const few_row *row, const int32_t columns) {
    const nnacl_conv2d_params *p = row->p;
    const int32_t panels = nnacl_panel_count(p->out_c, NNACL_PANEL_F32), last = p->out_w - columns;
    for (int32_t panel = 0; panel < panels; panel += FEW_PANELS) {
        const bool all = panel + FEW_PANELS <= panels;
        for (int32_t at = 0; at < p->out_w; at += columns) {
            if (all) {
                few_tile(row, at < last ? at : last, panel, FEW_PANELS, columns);
            } else {
                few_tile(row, at < last ? at : last, panel, 1, columns);
            }
        }
    }
}

/* The lines of output row `row` of the batch. */
static void few_lines(const nnacl_conv2d_params *p, const float *x, int32_t row, float *lines, ptrdiff_t line_step) {
    const ptrdiff_t width = (ptrdiff_t)p->in_w * p->in_c, left = (ptrdiff_t)p->pad_left * p->in_c;
    const int32_t image = row / p->out_h, top = (row - image * p->out_h) * p->stride_h - p->pad_top;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, lines += line_step) {
        const int32_t y = top + ky;
        const bool inside = y >= 0 && y < p->in_h;
        memset(lines, 0, (size_t)(inside ? left : line_step) * sizeof *lines);
        if (inside) {
            memcpy(lines + left, x + ((ptrdiff_t)image * p->in_h + y) * width, (size_t)width * sizeof *lines);
            memset(lines + left + width, 0, (size_t)(line_step - left - width) * sizeof *lines);
        }
    }
}

NNACL_ALWAYS_INLINE void conv_few(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    few_row row = {.p = p,
                   .lines = ctx->workspace,
                   .line_step = (ptrdiff_t)nnacl_conv_few_line(p),
                   .weights = in[1],
                   .bias = p->has_bias ? in[2] : NULL};
    for (int32_t i = rows.begin; i < rows.end; i++) {
        few_lines(p, in[0], i, ctx->workspace, row.line_step);
        row.y = (float *)out[0] + (ptrdiff_t)i * p->out_w * p->out_c;
        if (p->out_w >= FEW_COLUMNS) {
            few_tiles(&row, FEW_COLUMNS);
        } else {
            few_tiles(&row, FEW_COLUMNS / 2);
        }
    }
}

#endif
