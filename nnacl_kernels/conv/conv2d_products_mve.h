/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d of real numbers for MVE: rows times columns, which runs lie inside of the image. Defined before it is
 * included: the types `element` and `product`, multiply1 and multiply4 that take one, POSITIONS and PANEL of them, and
 * STEP, which says in what unit a product has its steps. */
#ifndef NNACL_CONV2D_PRODUCTS_MVE_H
#define NNACL_CONV2D_PRODUCTS_MVE_H

#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"

/* Columns of one tap and stride 1 are neighbours whatever their row: an image is one long row. */
static bool is_pointwise(const nnacl_conv2d_params *p) {
    return p->kernel_h * p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->out_h == p->in_h &&
           p->out_w == p->in_w && p->pad_top + p->pad_left == 0;
}

/* Computes `count` neighbours; a group that they do not fill repeats the last. */
static void run(const product *row, const element *x, int32_t step, element *y, int32_t channels, int32_t count) {
    product m = *row;
    if (count < POSITIONS - 1) {
        m.x[0] = x;
        m.y[0] = y;
        multiply1(&m);
        return;
    }
    for (int32_t i = 0; i < POSITIONS; i++) {
        const int32_t at = i < count ? i : count - 1;
        m.x[i] = x + at * step;
        m.y[i] = y + at * channels;
    }
    multiply4(&m);
}

/* `m` says what is particular to the element: its other fields are filled here. */
static void convolve(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, product m, const void *const in[],
                     void *const out[]) {
    const element *x = in[0], *weights = in[1];
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c, step = p->stride_w * p->in_c;
    const bool is_long = is_pointwise(p);
    const int32_t first = is_long ? 0 : rows.begin, end = is_long ? rows.begin < rows.end : rows.end;
    const int32_t width = is_long ? (rows.end - rows.begin) * p->out_w : p->out_w;
    const ptrdiff_t skipped = is_long ? (ptrdiff_t)rows.begin * p->out_w : 0;
    m.panel_step = STEP(depth * PANEL);
    m.bias = p->has_bias ? in[2] : NULL;
    m.channels = p->out_c;
    m.clamp_min = p->clamp_min;
    m.clamp_max = p->clamp_max;
    for (int32_t row = first; row < end; row++) {
        const element *image = x + ((ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w + skipped) * p->in_c;
        const nnacl_window tall =
            nnacl_window_at(row % p->out_h, p->stride_h, p->pad_top, p->dilation_h, p->kernel_h, p->in_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        element *y = (element *)out[0] + (is_long ? skipped : (ptrdiff_t)row * p->out_w) * p->out_c;
        for (int32_t column = 0, count; column < width; column += count) {
            const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w,
                                                      is_long ? width : p->in_w);
            const int32_t taps = wide.end - wide.begin, left = width - column;
            /* windows that lie wholly in the input */
            const int32_t room = (is_long ? width : p->in_w) - (p->kernel_w - 1) * p->dilation_w - 1 - wide.origin;
            int32_t whole = taps == p->kernel_w ? room / p->stride_w + 1 : 1;
            whole = whole < left ? whole : left;
            count = whole < POSITIONS - 1 ? 1 : whole < POSITIONS ? whole : POSITIONS;
            if (p->dilation_w == 1) {
                m.length = taps * p->in_c;
                m.runs = taps > 0 ? tall.end - tall.begin : 0;
                m.row_step = STEP((p->dilation_h * p->in_w - taps) * p->in_c);
                m.weights_step = STEP((p->kernel_w - taps) * p->in_c * PANEL);
            } else { /* there is one row: the taps are the runs */
                m.length = p->in_c;
                m.runs = tall.end > tall.begin ? taps : 0;
                m.row_step = STEP((p->dilation_w - 1) * p->in_c);
                m.weights_step = 0;
            }
            m.weights = weights + ((ptrdiff_t)tall.begin * p->kernel_w + wide.begin) * p->in_c * PANEL;
            run(&m, image + ((ptrdiff_t)first_y * p->in_w + wide.origin + wide.begin * p->dilation_w) * p->in_c, step,
                y + (ptrdiff_t)column * p->out_c, p->out_c, count);
        }
    }
}

#endif
