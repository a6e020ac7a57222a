/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of max_pool2d for MVE, whose assembly knows order and size of the fields. */
#ifndef NNACL_MAX_TAPS_MVE_H
#define NNACL_MAX_TAPS_MVE_H

#include "common/share.h"
#include "pool/pool_window.h"

typedef union nnacl_limit_mve {
    float real;
    int32_t integer;
} nnacl_limit_mve;

/* A window over channels; the assembly changes some of it. */
typedef struct nnacl_max_taps {
    const void *x;
    int32_t taps, rows;         /* of the window; rows 0 or more, taps at least 1 */
    int32_t tap_step, row_step; /* bytes from a tap to the next, from behind the last one to the next row */
    void *y;
    int32_t channels; /* at least 1 */
    nnacl_limit_mve least, most;
} nnacl_max_taps;

/* All windows of elements of `size` bytes. */
static inline void nnacl_max_windows(const nnacl_ctx *ctx, const nnacl_pool2d_params *p, const int8_t *x, int8_t *y,
                                     int32_t size, nnacl_limit_mve least, nnacl_limit_mve most,
                                     void (*max_taps)(nnacl_max_taps *w)) {
    const int32_t pixel = p->channels * size;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end && pixel > 0; row++) {
        const int8_t *image = x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * pixel;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        const int32_t iy = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            const int32_t taps = wide.end - wide.begin, ix = wide.origin + wide.begin * p->dilation_w;
            nnacl_max_taps w = {
                .x = image + ((ptrdiff_t)iy * p->in_w + ix) * pixel,
                .taps = taps,
                .rows = taps > 0 ? tall.end - tall.begin : 0,
                .tap_step = p->dilation_w * pixel,
                .row_step = (p->dilation_h * p->in_w - taps * p->dilation_w) * pixel,
                .y = y + ((ptrdiff_t)row * p->out_w + column) * pixel,
                .channels = p->channels,
                .least = least,
                .most = most,
            };
            max_taps(&w);
        }
    }
}

#endif
