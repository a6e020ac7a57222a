/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 8 bits with one scale for a row, in panels [depth][16] of bytes, for kernels that decode some panels and
 * then multiply many positions by them. Portable: what the plan half has to know of it. */
#ifndef NNACL_PACKED_BYTES_H
#define NNACL_PACKED_BYTES_H

#include "quant/packed_blocks.h"

/* Panels that are decoded at a time, at most. */
#define NNACL_BYTES_PANELS 3
/* Blocks of windows that are copied at a time, at most. */
#define NNACL_BYTES_BLOCKS 4

static inline bool nnacl_packed_has_bytes(int32_t bits, int32_t group, int32_t depth) {
    return bits == 8 && (group == 0 || group >= depth);
}

/* Windows that are copied at a time; none where they are the pixels of the input. */
static inline int32_t nnacl_packed_bytes_windows(const nnacl_packed_layer *p, int32_t depth) {
    return nnacl_packed_is_pixels(p) ? 0 : nnacl_packed_windows(depth * (int32_t)sizeof(float), NNACL_BYTES_BLOCKS);
}

static inline size_t nnacl_packed_bytes_workspace(const nnacl_packed_layer *p, int32_t depth) {
    const int32_t panels = nnacl_panel_count(p->out_c, NNACL_PANEL_F32);
    const int32_t columns = NNACL_PANEL_F32 * (panels < NNACL_BYTES_PANELS ? panels : NNACL_BYTES_PANELS);
    const int32_t positions = p->batch * p->out_h * p->out_w, block = nnacl_packed_bytes_windows(p, depth);
    return sizeof(float) * (size_t)depth * ((size_t)columns + (size_t)(positions < block ? positions : block));
}

static inline size_t nnacl_packed_bytes_size(int32_t channels, int32_t depth) {
    return (size_t)nnacl_panel_count(channels, NNACL_PANEL_F32) * NNACL_PANEL_F32 * (size_t)depth;
}

/* Packs weights [channels][depth]; missing channels become 0. */
static inline void nnacl_packed_bytes_pack(const int8_t *weights, int32_t channels, int32_t depth, int8_t *packed) {
    const int32_t columns = nnacl_panel_count(channels, NNACL_PANEL_F32) * NNACL_PANEL_F32;
    for (int32_t first = 0; first < columns; first += NNACL_PANEL_F32) {
        for (int32_t i = 0; i < depth; i++) {
            for (int32_t c = first; c < first + NNACL_PANEL_F32; c++) {
                *packed++ = c < channels ? weights[(ptrdiff_t)c * depth + i] : 0;
            }
        }
    }
}

#endif
