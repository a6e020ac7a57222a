/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of conv2d in runs (conv_runs.h), for kernels that gather them position by position. */
#ifndef NNACL_CONV_WINDOWS_H
#define NNACL_CONV_WINDOWS_H

#include <string.h>

#include "conv/conv_runs.h"

/* An output position and its window. */
typedef struct nnacl_conv_window {
    const int8_t *image;
    const int8_t *corner; /* the first tap; outside of the image when that is in the padding */
    int32_t row, column;  /* of the output, in the image */
    int32_t y, x;         /* of the first tap */
} nnacl_conv_window;

static inline nnacl_conv_window nnacl_window_first(const nnacl_conv2d_params *p, const int8_t *x, int32_t row) {
    const int32_t image = row / p->out_h;
    nnacl_conv_window w = {.image = x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c, .row = row - image * p->out_h};
    w.y = w.row * p->stride_h - p->pad_top;
    w.x = -p->pad_left;
    w.corner = w.image + ((ptrdiff_t)w.y * p->in_w + w.x) * p->in_c;
    return w;
}

static inline void nnacl_window_next(const nnacl_conv2d_params *p, nnacl_conv_window *w) {
    w->x += p->stride_w;
    w->corner += p->stride_w * p->in_c;
    if (++w->column < p->out_w) {
        return;
    }
    w->column = 0;
    w->x = -p->pad_left;
    w->y += p->stride_h;
    if (++w->row == p->out_h) {
        w->row = 0;
        w->y = -p->pad_top;
        w->image += (ptrdiff_t)p->in_h * p->in_w * p->in_c;
    }
    w->corner = w->image + ((ptrdiff_t)w->y * p->in_w + w->x) * p->in_c;
}

/* Taps along an axis from `position` lie wholly in the input. */
static inline bool nnacl_taps_fit(int32_t position, int32_t kernel, int32_t dilation, int32_t in) {
    return position >= 0 && position + (kernel - 1) * dilation < in;
}

/* Where run `run` of a window is. What lies in the padding is in `zeros`, and a run that is only partly in the input is
 * copied to `edge`. */
static inline const int8_t *nnacl_window_run(const nnacl_conv2d_params *p, const nnacl_conv_window *w, int32_t run,
                                             const int8_t *zeros, int8_t *edge) {
    const bool whole_row = p->dilation_w == 1;
    const int32_t ky = whole_row ? run : run / p->kernel_w, kx = whole_row ? 0 : run - ky * p->kernel_w;
    const int32_t taps = whole_row ? p->kernel_w : 1;
    const int32_t y = w->y + ky * p->dilation_h, x = w->x + kx * p->dilation_w;
    const int32_t before = x < 0 ? -x : 0, room = p->in_w - x, end = room < taps ? room : taps;
    const int8_t *source = w->image + ((ptrdiff_t)y * p->in_w + x) * p->in_c;
    if (y < 0 || y >= p->in_h || before >= end) {
        return zeros;
    }
    if (before == 0 && end == taps) {
        return source;
    }
    memset(edge, p->x_zero, (size_t)(taps * p->in_c));
    memcpy(edge + before * p->in_c, source + before * p->in_c, (size_t)((end - before) * p->in_c));
    return edge;
}

#endif
