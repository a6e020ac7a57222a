/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_s16_mve.h"
#include "conv/depthwise_s16_run.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s16_mve);

/* Adds the products of a window of rows * columns taps over eight channels. */
static void add_taps(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *w, int32_t rows, int32_t columns,
                     int32_t *sums) {
    const ptrdiff_t x_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, w_row = (ptrdiff_t)p->kernel_w * p->out_c;
    for (int32_t row = 0; row < rows && columns > 0; row++, x += x_row, w += w_row) {
        nnacl_taps8_s16_mve(x, p->dilation_w * p->in_c * 2, w, p->out_c, columns, sums);
    }
}

void nnacl_depthwise_conv2d_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    nnacl_depthwise_s16(ctx, params, in, out, 8, add_taps);
}
