/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of depthwise_conv2d with one output channel for each input channel, for the vectors of AVX2 or of whatever
 * vector_f32_*.h was included before. Windows of 3 x 3 and 5 x 5 without dilation go in tiles of two rows by up to four
 * columns. Channels are the inner loop, so that memory is read in long runs. */
#ifndef NNACL_DEPTHWISE_F32_AVX2_H
#define NNACL_DEPTHWISE_F32_AVX2_H

#ifndef LANES
#include "common/vector_f32_avx2.h"
#endif
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

#define TILE_ROWS 2
#define TILE_COLUMNS 4

/* A tile of outputs of one image. */
typedef struct dw_tile {
    const nnacl_conv2d_params *p;
    const float *image, *weights, *bias;
    float *y;                     /* the first output of the tile, channel 0 */
    int32_t iy, ix;               /* the first input, perhaps in the padding */
    int32_t rows;                 /* of the tile that are wanted */
    int32_t first_line, end_line; /* of the window that are inside */
} dw_tile;

typedef struct dw_sums {
    vector at[TILE_ROWS][TILE_COLUMNS];
} dw_sums;

/* Adds what a number of the input, number `j` of its line, gives to a row of the tile. */
NNACL_ALWAYS_INLINE void add_input(vector sums[TILE_COLUMNS], vector input, const vector *weights, const int32_t j,
                                   const int32_t kernel, const int32_t stride, const int32_t columns) {
#pragma GCC unroll 4
    for (int32_t c = 0; c < columns; c++) {
        const int32_t kx = j - c * stride;
        if (kx >= 0 && kx < kernel) {
            sums[c] = madd(input, weights[kx], sums[c]);
        }
    }
}

/* One line of 3 x 3 windows, but for `left` numbers at its begin and `right` at its end, which are padding: each number
 * is read once for both rows of the tile. */
NNACL_ALWAYS_INLINE void sum_line(const dw_tile *t, const float *a, const float *w, const int32_t line,
                                  const int32_t stride, const int32_t columns, const int32_t left, const int32_t right,
                                  dw_sums *sums) {
    const ptrdiff_t step = t->p->in_c;
    const int32_t reach = (columns - 1) * stride + 3;
    vector inputs[9];
#pragma GCC unroll 9
    for (int32_t j = left; j < reach - right; j++) {
        inputs[j] = hold(load_all(a + j * step));
    }
#pragma GCC unroll 2
    for (int32_t r = 0; r < TILE_ROWS; r++) {
        const int32_t ky = line - r * stride;
#pragma GCC unroll 3
        for (int32_t kx = 0; kx < 3; kx++) {
            if (ky >= 0 && ky < 3) {
                const vector weight = hold(load_all(w + (ky * 3 + kx) * step));
#pragma GCC unroll 4
                for (int32_t c = 0; c < columns; c++) {
                    const int32_t at = c * stride + kx;
                    if (at >= left && at < reach - right) {
                        sums->at[r][c] = madd(inputs[at], weight, sums->at[r][c]);
                    }
                }
            }
        }
    }
}

/* Windows of 3 x 3; lines in the padding are left out. */
NNACL_ALWAYS_INLINE void sum_3x3(const dw_tile *t, int32_t channel, const int32_t stride, const int32_t columns,
                                 const int32_t left, const int32_t right, dw_sums *sums) {
    const ptrdiff_t step = t->p->in_c, line_step = step * t->p->in_w;
    const float *a = t->image + t->iy * line_step + t->ix * step + channel, *w = t->weights + channel;
#pragma GCC unroll 5
    for (int32_t line = 0; line < stride + 3; line++) {
        if (line >= t->first_line && line < t->end_line) {
            sum_line(t, a + line * line_step, w, line, stride, columns, left, right, sums);
        }
    }
}

/* Any padding. */
NNACL_ALWAYS_INLINE void sum_any(const dw_tile *t, int32_t channel, const int32_t kernel, const int32_t stride,
                                 const int32_t columns, const bool inside, dw_sums *sums) {
    const nnacl_conv2d_params *p = t->p;
    for (int32_t ky = 0; ky < kernel; ky++) {
        vector weights[5];
#pragma GCC unroll 5
        for (int32_t kx = 0; kx < kernel; kx++) {
            weights[kx] = load_all(t->weights + channel + (ptrdiff_t)(ky * kernel + kx) * p->out_c);
        }
#pragma GCC unroll 2
        for (int32_t r = 0; r < TILE_ROWS; r++) {
            const int32_t y = t->iy + r * stride + ky;
            if (y < 0 || y >= p->in_h || r >= t->rows) {
                continue;
            }
            const float *line = t->image + ((ptrdiff_t)y * p->in_w + t->ix) * p->in_c + channel;
#pragma GCC unroll 11
            for (int32_t j = 0; j < (columns - 1) * stride + kernel; j++) {
                if (inside || (t->ix + j >= 0 && t->ix + j < p->in_w)) {
                    const vector input = hold(load_all(line + (ptrdiff_t)j * p->in_c));
                    add_input(sums->at[r], input, weights, j, kernel, stride, columns);
                }
            }
        }
    }
}

/* Which columns of a tile are padding. */
typedef enum dw_border { INSIDE, LEFT, RIGHT, ANY } dw_border;

/* LANES channels of a tile; kernel, stride, columns and border are constants. */
NNACL_ALWAYS_INLINE void tile_at(const dw_tile *t, int32_t channel, const int32_t kernel, const int32_t stride,
                                 const int32_t columns, const dw_border border) {
    const nnacl_conv2d_params *p = t->p;
    const vector start = t->bias ? load_all(t->bias + channel) : spread(0.0f);
    dw_sums sums;
#pragma GCC unroll 2
    for (int32_t r = 0; r < TILE_ROWS; r++) {
#pragma GCC unroll 4
        for (int32_t c = 0; c < columns; c++) {
            sums.at[r][c] = start;
        }
    }
    if (kernel == 3 && border != ANY) {
        sum_3x3(t, channel, stride, columns, border == LEFT, border == RIGHT, &sums);
    } else {
        sum_any(t, channel, kernel, stride, columns, border == INSIDE, &sums);
    }
    const vector low = spread(p->clamp_min), high = spread(p->clamp_max);
    const ptrdiff_t step = p->out_c, row_step = step * p->out_w;
    float *y = t->y + channel;
    const int32_t rows = t->rows;
#pragma GCC unroll 2
    for (int32_t r = 0; r < TILE_ROWS; r++) {
        if (r >= rows) {
            break;
        }
#pragma GCC unroll 4
        for (int32_t c = 0; c < columns; c++) {
            store_all(y + r * row_step + c * step, clamp(sums.at[r][c], low, high));
        }
    }
}

/* The last vector of the channels may repeat some of the one before. */
NNACL_ALWAYS_INLINE void tile_all(const dw_tile *t, const int32_t kernel, const int32_t stride, const int32_t columns,
                                  const dw_border border) {
    const int32_t last = t->p->out_c - LANES;
    for (int32_t channel = 0; channel < t->p->out_c; channel += LANES) {
        tile_at(t, channel < last ? channel : last, kernel, stride, columns, border);
    }
}

/* What is rare, and what AVX2 gains little from, goes without code of its own. */
NNACL_ALWAYS_INLINE void tile_of(const dw_tile *t, const int32_t kernel, const int32_t stride, const int32_t columns) {
    const int32_t before = -t->ix, after = t->ix + (columns - 1) * stride + kernel - t->p->in_w;
    const bool may_differ = kernel == 3 && LANES == 16;
    if (before <= 0 && after <= 0) {
        tile_all(t, kernel, stride, columns, INSIDE);
    } else if (may_differ && columns == 4 && before == 1 && after <= 0) {
        tile_all(t, kernel, stride, columns, LEFT);
    } else if (may_differ && before <= 0 && after == 1) {
        tile_all(t, kernel, stride, columns, RIGHT);
    } else {
        tile_all(t, kernel, stride, columns, ANY);
    }
}

/* A row is cut into tiles of 4 or 3 columns, whichever repeats fewer; at least 3 there are. */
NNACL_ALWAYS_INLINE void rows_of(dw_tile *t, float *line, const int32_t kernel, const int32_t stride) {
    const nnacl_conv2d_params *p = t->p;
    const int32_t lines = stride * (t->rows - 1) + kernel;
    t->first_line = t->iy < 0 ? -t->iy : 0;
    t->end_line = p->in_h - t->iy < lines ? p->in_h - t->iy : lines;
    for (int32_t left = p->out_w, width; left > 0; left -= width) {
        width = left % 4 == 0 || (left > 6 && left != 9) ? 4 : 3;
        const int32_t column = p->out_w - (left > width ? left : width);
        t->ix = column * stride - p->pad_left;
        t->y = line + (ptrdiff_t)column * p->out_c;
        if (width == 4) {
            tile_of(t, kernel, stride, 4);
        } else {
            tile_of(t, kernel, stride, 3);
        }
    }
}

static void rows_3_1(dw_tile *t, float *line) {
    rows_of(t, line, 3, 1);
}

static void rows_3_2(dw_tile *t, float *line) {
    rows_of(t, line, 3, 2);
}

static void rows_5_1(dw_tile *t, float *line) {
    rows_of(t, line, 5, 1);
}

static void rows_5_2(dw_tile *t, float *line) {
    rows_of(t, line, 5, 2);
}

/* Any window, one output at a time. */
static void rows_any(dw_tile *t, float *line) {
    const nnacl_conv2d_params *p = t->p;
    const vector low = spread(p->clamp_min), high = spread(p->clamp_max);
    for (int32_t output = 0; output < t->rows * p->out_w; output++) {
        const int32_t row = output / p->out_w, column = output - row * p->out_w;
        const int32_t iy = t->iy + row * p->stride_h, ix = column * p->stride_w - p->pad_left;
        for (int32_t channel = 0; channel < p->out_c; channel += LANES) {
            const vector_lanes lanes = lanes_of(p->out_c - channel);
            vector sum = t->bias ? load(t->bias + channel, lanes) : spread(0.0f);
            for (int32_t tap = 0; tap < p->kernel_h * p->kernel_w; tap++) {
                const int32_t ky = tap / p->kernel_w, kx = tap - ky * p->kernel_w;
                const int32_t y = iy + ky * p->dilation_h, x = ix + kx * p->dilation_w;
                if (y >= 0 && y < p->in_h && x >= 0 && x < p->in_w) {
                    const float *a = t->image + ((ptrdiff_t)y * p->in_w + x) * p->in_c + channel;
                    sum = madd(load(a, lanes), load(t->weights + (ptrdiff_t)tap * p->out_c + channel, lanes), sum);
                }
            }
            store(line + (ptrdiff_t)output * p->out_c + channel, lanes, clamp(sum, low, high));
        }
    }
}

typedef void (*rows_fn)(dw_tile *t, float *line);

static rows_fn pick(const nnacl_conv2d_params *p) {
    const bool plain = p->dilation_h == 1 && p->dilation_w == 1 && p->kernel_h == p->kernel_w &&
                       p->stride_h == p->stride_w && p->stride_h <= 2 && p->out_c >= LANES && p->out_w >= 3;
    if (plain && p->kernel_h == 3) {
        return p->stride_h == 1 ? rows_3_1 : rows_3_2;
    }
    if (plain && p->kernel_h == 5) {
        return p->stride_h == 1 ? rows_5_1 : rows_5_2;
    }
    return rows_any;
}

NNACL_ALWAYS_INLINE void depthwise(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const rows_fn rows_run = pick(p);
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    dw_tile t = {.p = p, .weights = in[1], .bias = p->has_bias ? in[2] : NULL};
    for (int32_t row = rows.begin; row < rows.end; row += t.rows) {
        const int32_t image = row / p->out_h, line = row - image * p->out_h;
        t.image = (const float *)in[0] + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c;
        t.iy = line * p->stride_h - p->pad_top;
        t.rows = line + 1 < p->out_h && row + 1 < rows.end ? 2 : 1;
        rows_run(&t, (float *)out[0] + (ptrdiff_t)row * p->out_w * p->out_c);
    }
}

#endif
