/* SPDX-License-Identifier: Apache-2.0 */
/* Every output position of a pool of elements of `size` bytes, for kernels that take all channels of a position at
 * once. */
#ifndef NNACL_POOL_POSITIONS_H
#define NNACL_POOL_POSITIONS_H

#include "common/share.h"
#include "common/tap_sums.h"
#include "pool/pool_window.h"

/* Calls `run` with the positions of the window that are in the input, the place of the output position and its first
 * channel. */
static inline void nnacl_pool_positions(const nnacl_ctx *ctx, const nnacl_pool2d_params *p, int32_t size, const void *x,
                                        void *y,
                                        void (*run)(const nnacl_pool2d_params *p, const nnacl_taps *taps, int32_t out_y,
                                                    int32_t out_x, void *y)) {
    const ptrdiff_t pixel = (ptrdiff_t)p->channels * size;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_h);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *image = (const int8_t *)x + (ptrdiff_t)(row / p->out_h) * p->in_h * p->in_w * pixel;
        const nnacl_window tall = nnacl_pool_rows(p, row % p->out_h);
        const int32_t first_y = tall.origin + tall.begin * p->dilation_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            const nnacl_window wide = nnacl_pool_columns(p, column);
            const int32_t first_x = wide.origin + wide.begin * p->dilation_w;
            const nnacl_taps taps = {
                .x = image + ((ptrdiff_t)first_y * p->in_w + first_x) * pixel,
                .row_step = (ptrdiff_t)p->dilation_h * p->in_w * pixel,
                .column_step = (ptrdiff_t)p->dilation_w * pixel,
                .rows = tall.end - tall.begin,
                .columns = wide.end - wide.begin,
            };
            run(p, &taps, row % p->out_h, column, (int8_t *)y + ((ptrdiff_t)row * p->out_w + column) * pixel);
        }
    }
}

#endif
