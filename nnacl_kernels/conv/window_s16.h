/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of windows of s16, for kernels that multiply them as one run. */
#ifndef NNACL_WINDOW_S16_H
#define NNACL_WINDOW_S16_H

#include <string.h>

#include "common/window.h"
#include "conv/conv.h"

/* The window of the output at `column`, whose rows of taps are `row_size` elements apart; zeros are in the padding and
 * behind rows. */
static void nnacl_copy_window_s16(const nnacl_conv2d_params *p, const int16_t *image, nnacl_window tall, int32_t column,
                                  int32_t row_size, int16_t *to) {
    const nnacl_window wide = nnacl_window_at(column, p->stride_w, p->pad_left, p->dilation_w, p->kernel_w, p->in_w);
    memset(to, 0, (size_t)(p->kernel_h * row_size) * sizeof *to);
    for (int32_t ky = tall.begin; ky < tall.end; ky++) {
        for (int32_t kx = wide.begin; kx < wide.end; kx++) {
            const int32_t y = tall.origin + ky * p->dilation_h, x = wide.origin + kx * p->dilation_w;
            memcpy(to + ky * row_size + kx * p->in_c, image + ((ptrdiff_t)y * p->in_w + x) * p->in_c,
                   (size_t)p->in_c * sizeof *to);
        }
    }
}

#endif
