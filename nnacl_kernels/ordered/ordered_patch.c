/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/ordered_patch.h"

void nnacl_ordered_patch(const nnacl_conv2d_ordered_params *p, const float *image, int32_t row, int32_t column,
                         int32_t channel, float *patch) {
    const int32_t depth = p->in_c / p->groups;
    for (int32_t i = 0; i < depth; i++) {
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            const int32_t y = row * p->stride_h - p->pad_top + ky * p->dilation_h;
            for (int32_t kx = 0; kx < p->kernel_w; kx++) {
                const int32_t x = column * p->stride_w - p->pad_left + kx * p->dilation_w;
                const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
                *patch++ = inside ? image[((ptrdiff_t)y * p->in_w + x) * p->in_c + channel + i] : 0.0f;
            }
        }
    }
}
