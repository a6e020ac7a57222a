/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a convolution, some output rows at a time, with its padding written down: no window has to ask what lies
 * outside. Where there is no padding, and windows are read no further than they go, it is the input itself. Bytes only.
 * Portable: the plan half asks for the workspace here. */
#ifndef NNACL_CONV_BAND_H
#define NNACL_CONV_BAND_H

#include <string.h>

#include "conv/conv.h"

/* Bytes of a band that has more than one output row. */
#define NNACL_BAND_BYTES 32768
/* Bytes before and behind it that may be read. */
#define NNACL_BAND_SLACK 16

typedef struct nnacl_conv_band {
    bool direct;       /* the input itself */
    int32_t rows;      /* output rows at a time */
    int32_t columns;   /* of a line */
    size_t line;       /* bytes of a line */
    ptrdiff_t advance; /* bytes from one output column to the next */
} nnacl_conv_band;

/* Lines of the input below `rows` rows of outputs. */
static inline int32_t nnacl_band_lines(const nnacl_conv2d_params *p, int32_t rows) {
    return (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

/* `run`: bytes that are read at once; below `least` a kernel reads beyond them. */
static inline nnacl_conv_band nnacl_conv_band_of(const nnacl_conv2d_params *p, int32_t run, int32_t least) {
    const int32_t reach = (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
    const bool inside = p->pad_top == 0 && p->pad_left == 0 && nnacl_band_lines(p, p->out_h) <= p->in_h;
    nnacl_conv_band band = {.direct = inside && reach <= p->in_w && run >= least, .rows = 1};
    band.columns = band.direct ? p->in_w : reach;
    band.line = (size_t)band.columns * (size_t)p->in_c;
    band.advance = (ptrdiff_t)p->stride_w * p->in_c;
    while (band.rows < p->out_h && (size_t)nnacl_band_lines(p, band.rows + 1) * band.line <= NNACL_BAND_BYTES) {
        band.rows++;
    }
    return band;
}

static inline size_t nnacl_conv_band_workspace(const nnacl_conv2d_params *p, const nnacl_conv_band *band) {
    return band->direct ? 0 : 2 * NNACL_BAND_SLACK + (size_t)nnacl_band_lines(p, band->rows) * band->line;
}

/* The first tap of the first window of output rows row .. row + count - 1 of `image`. */
static inline const int8_t *nnacl_conv_band_load(const nnacl_conv2d_params *p, const nnacl_conv_band *band,
                                                 const int8_t *x, int32_t image, int32_t row, int32_t count,
                                                 void *workspace) {
    const size_t in_line = (size_t)p->in_w * (size_t)p->in_c;
    const int32_t first = row * p->stride_h - p->pad_top, lines = nnacl_band_lines(p, count);
    x += (ptrdiff_t)image * p->in_h * (ptrdiff_t)in_line;
    if (band->direct) {
        return x + first * (ptrdiff_t)in_line;
    }
    const int32_t before = p->pad_left < band->columns ? p->pad_left : band->columns;
    const int32_t room = band->columns - before, there = room < p->in_w ? room : p->in_w;
    const size_t left = (size_t)before * (size_t)p->in_c, middle = (size_t)there * (size_t)p->in_c;
    int8_t *begin = (int8_t *)workspace + NNACL_BAND_SLACK, *to = begin;
    for (int32_t i = 0; i < lines; i++, to += band->line) {
        const int32_t y = first + i;
        if (y < 0 || y >= p->in_h) {
            memset(to, p->x_zero, band->line);
            continue;
        }
        memset(to, p->x_zero, left);
        memcpy(to + left, x + y * (ptrdiff_t)in_line, middle);
        memset(to + left + middle, p->x_zero, band->line - left - middle);
    }
    return begin;
}

#endif
