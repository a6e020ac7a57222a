/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in panels, for kernels that compute several output channels at a time. Portable: the plan half packs for any
 * target. */
#ifndef NNACL_PANELS_H
#define NNACL_PANELS_H

#include <string.h>

#include "nnacl_base.h"

/* Columns of a float panel: [depth][16] floats. */
#define NNACL_PANEL_F32 16
/* The same for a small floating-point unit, and for MVE: [depth][4]. */
#define NNACL_PANEL_VFP 4
/* Columns of an integer panel: [(depth + 1) / 2][16][2], two steps of the depth side by side. */
#define NNACL_PANEL_S8 16

static inline int32_t nnacl_panel_count(int32_t columns, int32_t width) {
    return columns / width + (columns % width != 0);
}

/* Of panels with `width` columns. */
static inline size_t nnacl_columns_f32_size(int32_t columns, int32_t depth, int32_t width) {
    return (size_t)nnacl_panel_count(columns, width) * (size_t)width * (size_t)depth * sizeof(float);
}

/* Packs weights [columns][depth]; missing columns become 0. */
static inline void nnacl_pack_columns_f32(const float *weights, int32_t columns, int32_t depth, int32_t width,
                                          float *packed) {
    const int32_t panels = nnacl_panel_count(columns, width);
    for (int32_t panel = 0; panel < panels; panel++) {
        for (int32_t i = 0; i < depth; i++) {
            for (int32_t c = 0; c < width; c++) {
                const int32_t column = panel * width + c;
                *packed++ = column < columns ? weights[(ptrdiff_t)column * depth + i] : 0.0f;
            }
        }
    }
}

/* Panels of halves, [depth][16]; for MVE [depth][8]. */
#define NNACL_PANEL_F16 16
#define NNACL_PANEL_F16_MVE 8

static inline size_t nnacl_columns_f16_size(int32_t columns, int32_t depth, int32_t width) {
    return (size_t)nnacl_panel_count(columns, width) * (size_t)width * (size_t)depth * sizeof(uint16_t);
}

/* Packs weights [columns][depth] to panels of `deep` rows; missing columns and rows become 0. */
static inline void nnacl_pack_columns_f16(const uint16_t *weights, int32_t columns, int32_t depth, int32_t deep,
                                          int32_t width, uint16_t *packed) {
    const int32_t panels = nnacl_panel_count(columns, width);
    for (int32_t panel = 0; panel < panels; panel++) {
        for (int32_t i = 0; i < deep; i++) {
            for (int32_t c = 0; c < width; c++) {
                const int32_t column = panel * width + c;
                *packed++ = column < columns && i < depth ? weights[(ptrdiff_t)column * depth + i] : 0;
            }
        }
    }
}

static inline size_t nnacl_panels_f32_size(int32_t columns, int32_t depth) {
    return nnacl_columns_f32_size(columns, depth, NNACL_PANEL_F32);
}

static inline void nnacl_pack_panels_f32(const float *weights, int32_t columns, int32_t depth, float *packed) {
    nnacl_pack_columns_f32(weights, columns, depth, NNACL_PANEL_F32, packed);
}

static inline size_t nnacl_panels_s8_size(int32_t columns, int32_t depth) {
    const size_t pairs = ((size_t)depth + 1) / 2;
    return (size_t)nnacl_panel_count(columns, NNACL_PANEL_S8) * NNACL_PANEL_S8 * pairs * 2;
}

/* Packs weights [columns][depth]; missing columns and the second half of the last pair of an odd depth become 0. */
static inline void nnacl_pack_panels_s8(const int8_t *weights, int32_t columns, int32_t depth, int8_t *packed) {
    const int32_t panels = nnacl_panel_count(columns, NNACL_PANEL_S8);
    for (int32_t panel = 0; panel < panels; panel++) {
        for (int32_t i = 0; i < depth; i += 2) {
            for (int32_t c = 0; c < NNACL_PANEL_S8; c++) {
                const int32_t column = panel * NNACL_PANEL_S8 + c;
                const int8_t *pair = weights + (ptrdiff_t)column * depth + i;
                *packed++ = column < columns ? pair[0] : 0;
                *packed++ = column < columns && i + 1 < depth ? pair[1] : 0;
            }
        }
    }
}

#endif
