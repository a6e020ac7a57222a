/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of bfloat16 in panels for kernels that multiply two steps of the depth at a time. Portable: the plan half
 * packs for any target. */
#ifndef NNACL_PANELS_BFLOAT_H
#define NNACL_PANELS_BFLOAT_H

#include "common/bfloat.h"
#include "common/panels.h"

/* A panel: 16 sums of f32 to start from (0), then [depth / 2, rounded up][16][2] weights. */
#define NNACL_PANEL_BFLOAT 16

/* Bytes of a row of `depth` numbers: whole pairs. */
static inline int32_t nnacl_bfloat_row(int32_t depth) {
    return (depth + 1) / 2 * 4;
}

static inline size_t nnacl_panel_bfloat_size(int32_t depth) {
    return NNACL_PANEL_BFLOAT * (sizeof(float) + (size_t)nnacl_bfloat_row(depth));
}

static inline size_t nnacl_panels_bfloat_size(int32_t columns, int32_t depth) {
    return (size_t)nnacl_panel_count(columns, NNACL_PANEL_BFLOAT) * nnacl_panel_bfloat_size(depth);
}

/* Packs weights [columns][depth]; missing columns and the rest of the last pair become 0. */
static inline void nnacl_pack_panels_bfloat(const uint16_t *weights, int32_t columns, int32_t depth, void *packed) {
    uint16_t *panel = packed;
    for (int32_t first = 0; first < columns; first += NNACL_PANEL_BFLOAT) {
        const int32_t rest = columns - first, count = rest < NNACL_PANEL_BFLOAT ? rest : NNACL_PANEL_BFLOAT;
        memset(panel, 0, nnacl_panel_bfloat_size(depth));
        panel += 2 * NNACL_PANEL_BFLOAT;
        for (int32_t c = 0; c < count; c++) {
            const uint16_t *w = weights + (ptrdiff_t)(first + c) * depth;
            for (int32_t i = 0; i < depth; i++) {
                panel[(ptrdiff_t)(i / 2) * 2 * NNACL_PANEL_BFLOAT + 2 * c + i % 2] = nnacl_bfloat_flushed(w[i]);
            }
        }
        panel += (ptrdiff_t)NNACL_PANEL_BFLOAT * nnacl_bfloat_row(depth) / 2;
    }
}

#endif
