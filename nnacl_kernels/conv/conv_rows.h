/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as a product of matrices whose left one is never written down: a row of it, which is the window of one
 * output position, is a list of pointers to runs of neighbours in the input. Windows whose runs would be too short are
 * copied. Portable: the plan half asks for the workspace here. */
#ifndef NNACL_CONV_ROWS_H
#define NNACL_CONV_ROWS_H

#include <string.h>

#include "conv/conv.h"

/* Rows that are listed at a time, and the most in one tile. */
#define NNACL_CONV_ROWS 128
#define NNACL_CONV_TILE 8

typedef struct nnacl_conv_rows {
    int32_t element; /* bytes */
    int32_t taps;    /* pointers in a row */
    int32_t run;     /* elements at each pointer */
    int32_t copied;  /* runs are copied: 1, a window (one run, rounded up to 4 bytes); 2, kernel rows not inside */
} nnacl_conv_rows;

static inline nnacl_conv_rows nnacl_conv_rows_of(const nnacl_conv2d_params *p, int32_t element) {
    const int32_t channels = p->in_c / p->groups, taps = p->kernel_h * p->kernel_w, depth = taps * channels;
    if ((taps == 1 || channels >= 16) && channels * element % 4 == 0) {
        return (nnacl_conv_rows){element, taps, channels, 0};
    }
    if (element == 4 && p->dilation_w == 1 && p->groups == 1) {
        return (nnacl_conv_rows){element, p->kernel_h, p->kernel_w * channels, 2};
    }
    const int32_t unit = 4 / element;
    return (nnacl_conv_rows){element, 1, (depth + unit - 1) / unit * unit, 1};
}

/* Bytes: the pointers, then a run of padding or the copied windows. */
static inline size_t nnacl_conv_rows_workspace(nnacl_conv_rows rows) {
    const size_t run = (size_t)rows.run * (size_t)rows.element;
    const size_t size =
        NNACL_CONV_ROWS * (size_t)rows.taps * sizeof(void *) + (rows.copied == 1   ? NNACL_CONV_ROWS
                                                                : rows.copied == 2 ? NNACL_CONV_ROWS * (size_t)rows.taps
                                                                                   : 1) *
                                                                   run;
    return (size + 15) / 16 * 16;
}

static inline int32_t nnacl_conv_positions(const nnacl_conv2d_params *p) {
    return p->batch * p->out_h * p->out_w;
}

static inline int32_t nnacl_conv_tiles(const nnacl_conv2d_params *p, int32_t tile) {
    const int32_t positions = nnacl_conv_positions(p);
    return positions / tile + (positions % tile != 0);
}

/* First position of tile `index` of `tiles`, which are of almost equal size. */
static inline int32_t nnacl_conv_tile_begin(int32_t positions, int32_t tiles, int32_t index) {
    return (int32_t)((int64_t)positions * index / tiles);
}

/* The work is split by panels of output channels where there are more of them than tiles of positions. */
static inline bool nnacl_conv_split_panels(const nnacl_conv2d_params *p, int32_t tiles, int32_t panels) {
    return p->groups == 1 && panels > tiles;
}

/* memcpy() without a call. */
static inline void nnacl_conv_rows_run(char *to, const char *from, size_t size) {
    if (size < 16) {
        for (size_t i = 0; i < size; i++) {
            to[i] = from[i];
        }
        return;
    }
    for (size_t i = 0; i + 16 < size; i += 16) {
        memcpy(to + i, from + i, 16);
    }
    memcpy(to + size - 16, from + size - 16, 16);
}

/* Copies one kernel row, whose begin (row `y`, column `x` of the input, perhaps in the padding) is at `a`. Neighbours
 * that are neighbours in memory are copied at once. */
static inline void nnacl_conv_rows_line(const nnacl_conv2d_params *p, const char *a, int32_t y, int32_t x,
                                        int32_t element, int32_t fill, char *copy) {
    const size_t part = (size_t)(p->in_c / p->groups) * (size_t)element, line = part * (size_t)p->kernel_w;
    const ptrdiff_t step = (ptrdiff_t)p->in_c * element * p->dilation_w;
    if (y < 0 || y >= p->in_h) {
        memset(copy, fill, line);
        return;
    }
    if (p->dilation_w == 1 && p->groups == 1 && x >= 0 && x + p->kernel_w <= p->in_w) {
        nnacl_conv_rows_run(copy, a, line);
        return;
    }
    for (int32_t kx = 0; kx < p->kernel_w; kx++, x += p->dilation_w, copy += part) {
        if (x >= 0 && x < p->in_w) {
            nnacl_conv_rows_run(copy, a + kx * step, part);
        } else {
            memset(copy, fill, part);
        }
    }
}

/* Lists rows first .. first + count - 1 of one group; `image` is the input at the first channel of the group, `fill`
 * the byte that padding consists of. */
static inline void nnacl_conv_rows_list(const nnacl_conv2d_params *p, nnacl_conv_rows rows, const char *image,
                                        int32_t first, int32_t count, int32_t fill, void *workspace) {
    const char **list = (const char **)workspace;
    char *space = (char *)workspace + NNACL_CONV_ROWS * (size_t)rows.taps * sizeof(void *);
    const ptrdiff_t column_step = (ptrdiff_t)p->in_c * rows.element, row_step = column_step * p->in_w;
    const size_t run = (size_t)rows.run * (size_t)rows.element;
    int32_t column = first % p->out_w, line = first / p->out_w % p->out_h;
    const char *start = image + (ptrdiff_t)(first / p->out_w / p->out_h) * p->in_h * row_step;
    if (!rows.copied) {
        memset(space, fill, run);
    }
    const bool whole = rows.taps == 1 && !rows.copied && p->pad_top + p->pad_left + p->pad_bottom + p->pad_right == 0;
    for (int32_t r = 0; r < count; r++) {
        const int32_t iy = line * p->stride_h - p->pad_top, ix = column * p->stride_w - p->pad_left;
        if (whole) {
            *list++ = start + iy * row_step + ix * column_step;
        } else if (rows.copied) {
            const size_t line_size = (size_t)p->kernel_w * (size_t)(p->in_c / p->groups) * (size_t)rows.element;
            const bool inside = rows.copied == 2 && ix >= 0 && ix + p->kernel_w <= p->in_w;
            char *copy = space + (size_t)r * (size_t)rows.taps * run;
            if (rows.copied == 1) {
                *list++ = copy;
            }
            for (int32_t ky = 0; ky < p->kernel_h; ky++, copy += line_size) {
                const int32_t y = iy + ky * p->dilation_h;
                const char *at = start + y * row_step + ix * column_step;
                const bool as_it_lies = inside && y >= 0 && y < p->in_h;
                if (rows.copied == 2) {
                    *list++ = as_it_lies ? at : copy;
                }
                if (!as_it_lies) {
                    nnacl_conv_rows_line(p, at, y, ix, rows.element, fill, copy);
                }
            }
            for (const char *end = space + (size_t)(r + 1) * (size_t)rows.taps * run; copy < end; copy++) {
                *copy = (char)fill;
            }
        } else {
            for (int32_t ky = 0; ky < p->kernel_h; ky++) {
                const int32_t y = iy + ky * p->dilation_h;
                const char *at = start + y * row_step;
                for (int32_t kx = 0; kx < p->kernel_w; kx++) {
                    const int32_t x = ix + kx * p->dilation_w;
                    const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
                    *list++ = inside ? at + x * column_step : space;
                }
            }
        }
        if (++column == p->out_w) {
            column = 0;
            if (++line == p->out_h) {
                line = 0;
                start += p->in_h * row_step;
            }
        }
    }
}

#endif
