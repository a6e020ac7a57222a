/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>
#include <string.h>

#include "conv/depthwise_s16_run.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s16_dsp);

static uint32_t load(const void *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Adds the products of a window of rows * columns taps over four channels. */
static void add_taps(const nnacl_conv2d_params *p, const int16_t *x, const int8_t *w, int32_t rows, int32_t columns,
                     int32_t *sums) {
    const ptrdiff_t x_step = (ptrdiff_t)p->dilation_w * p->in_c, w_step = p->out_c;
    const ptrdiff_t x_row = (ptrdiff_t)p->dilation_h * p->in_w * p->in_c, w_row = (ptrdiff_t)p->kernel_w * p->out_c;
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (int32_t row = 0; row < rows; row++, x += x_row, w += w_row) {
        const int16_t *tap = x;
        const int8_t *weights = w;
        for (int32_t column = 0; column < columns; column++, tap += x_step, weights += w_step) {
            const uint32_t first = load(tap), second = load(tap + 2), word = load(weights);
            const int32_t even = __sxtb16((int8x4_t)word), odd = __sxtb16((int8x4_t)(word >> 8 | word << 24));
            a = __smlabb((int32_t)first, even, a);
            b = __smlatb((int32_t)first, odd, b);
            c = __smlabt((int32_t)second, even, c);
            d = __smlatt((int32_t)second, odd, d);
        }
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

void nnacl_depthwise_conv2d_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    nnacl_depthwise_s16(ctx, params, in, out, 4, add_taps);
}
