/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a depthwise convolution of s8 for kernels that take two neighbours of a kernel row at a time. Portable:
 * the plan half packs for any target. */
#ifndef NNACL_PANELS_PAIR_H
#define NNACL_PANELS_PAIR_H

#include <string.h>

#include "nnacl_base.h"

/* A panel has 32 channels: their starts of s32, -x_zero * sum(w - w_zero) modulo 2^32, then
 * [kernel_h][kernel_w / 2, rounded up] pairs of 64 words. A pair holds for each channel two neighbours less w_zero, in
 * the order in which AVX-512 interleaves: channels 0-3, 8-11, 16-19, 24-27, then the others. */
#define NNACL_PANEL_PAIR 32

static inline size_t nnacl_panel_pair_size(int32_t kernel_h, int32_t kernel_w) {
    const size_t pairs = (size_t)kernel_h * (size_t)(kernel_w / 2 + kernel_w % 2);
    return NNACL_PANEL_PAIR * sizeof(int32_t) + pairs * 2 * NNACL_PANEL_PAIR * sizeof(int16_t);
}

static inline size_t nnacl_panels_pair_size(int32_t channels, int32_t kernel_h, int32_t kernel_w) {
    const size_t panels = (size_t)(channels / NNACL_PANEL_PAIR + (channels % NNACL_PANEL_PAIR != 0));
    return panels * nnacl_panel_pair_size(kernel_h, kernel_w);
}

/* Packs weights [kernel_h][kernel_w][channels]; what is missing becomes 0. */
static inline void nnacl_pack_panels_pair(const int8_t *weights, int32_t channels, int32_t kernel_h, int32_t kernel_w,
                                          int32_t x_zero, int32_t w_zero, void *packed) {
    char *panel = (char *)packed;
    const size_t size = nnacl_panel_pair_size(kernel_h, kernel_w);
    for (int32_t first = 0; first < channels; first += NNACL_PANEL_PAIR, panel += size) {
        memset(panel, 0, size);
        for (int32_t c = 0; c < NNACL_PANEL_PAIR && first + c < channels; c++) {
            char *word = panel + NNACL_PANEL_PAIR * sizeof(int32_t);
            word += (size_t)(c % 8 / 4 * 32 + c / 8 * 8 + c % 4 * 2) * sizeof(int16_t);
            const int8_t *w = weights + first + c;
            uint32_t sum = 0;
            for (int32_t ky = 0; ky < kernel_h; ky++) {
                for (int32_t kx = 0; kx < kernel_w; kx++, w += channels) {
                    const int16_t value = (int16_t)(*w - w_zero);
                    sum += (uint32_t)value;
                    memcpy(word + (size_t)(kx % 2) * sizeof value, &value, sizeof value);
                    word += kx % 2 == 1 || kx + 1 == kernel_w ? 2 * NNACL_PANEL_PAIR * sizeof value : 0;
                }
            }
            const uint32_t start = 0u - (uint32_t)x_zero * sum;
            memcpy(panel + (size_t)c * sizeof start, &start, sizeof start);
        }
    }
}

#endif
