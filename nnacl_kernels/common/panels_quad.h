/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of s8 in panels for kernels that take four steps of the depth at a time, bytes without a sign on the other
 * side. Portable: the plan half packs for any target. */
#ifndef NNACL_PANELS_QUAD_H
#define NNACL_PANELS_QUAD_H

#include <string.h>

#include "common/panels.h"

/* A panel: 16 starts of s32, then [depth / 4, rounded up][16][4] weights. The kernel adds 128 to each input; the start
 * takes that and the zero point x_zero away again: -(x_zero + 128) * sum of the column, modulo 2^32. */
#define NNACL_PANEL_QUAD 16

static inline size_t nnacl_panel_quad_size(int32_t depth) {
    const size_t quads = ((size_t)depth + 3) / 4;
    return NNACL_PANEL_QUAD * (sizeof(int32_t) + 4 * quads);
}

static inline size_t nnacl_panels_quad_size(int32_t columns, int32_t depth) {
    return (size_t)nnacl_panel_count(columns, NNACL_PANEL_QUAD) * nnacl_panel_quad_size(depth);
}

/* Packs weights [columns][depth]; missing columns and the rest of the last four steps become 0. */
static inline void nnacl_pack_panels_quad(const int8_t *weights, int32_t columns, int32_t depth, int32_t x_zero,
                                          void *packed) {
    char *to = (char *)packed;
    for (int32_t first = 0; first < columns; first += NNACL_PANEL_QUAD) {
        const int32_t rest = columns - first, count = rest < NNACL_PANEL_QUAD ? rest : NNACL_PANEL_QUAD;
        char *panel = to + NNACL_PANEL_QUAD * sizeof(int32_t);
        memset(to, 0, nnacl_panel_quad_size(depth));
        for (int32_t c = 0; c < count; c++) {
            const int8_t *w = weights + (ptrdiff_t)(first + c) * depth;
            uint32_t sum = 0;
            for (int32_t i = 0; i < depth; i++) {
                sum += (uint32_t)w[i];
                panel[(ptrdiff_t)(i / 4) * 4 * NNACL_PANEL_QUAD + 4 * c + i % 4] = (char)w[i];
            }
            const uint32_t start = 0u - (uint32_t)(x_zero + 128) * sum;
            memcpy(to + (size_t)c * sizeof start, &start, sizeof start);
        }
        to += nnacl_panel_quad_size(depth);
    }
}

#endif
