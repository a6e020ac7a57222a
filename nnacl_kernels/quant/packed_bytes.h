/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 8 bits with one scale for a row, in panels [depth][16] of bytes, for kernels that decode some panels and
 * then multiply many positions by them. Portable: what the plan half has to know of it. */
#ifndef NNACL_PACKED_BYTES_H
#define NNACL_PACKED_BYTES_H

#include "common/panels.h"
#include "quant/packed_bfloat.h"

/* Panels that are decoded at a time, at most. */
#define NNACL_BYTES_PANELS 3
/* Positions that stay together when the work is split: whole tiles of 6 and of 8 rows. */
#define NNACL_BYTES_POSITIONS 24
/* Bytes of copied windows, and the most windows. */
#define NNACL_BYTES_COPIED 262144
#define NNACL_BYTES_MOST 96

static inline bool nnacl_packed_has_bytes(int32_t bits, int32_t group, int32_t depth) {
    return bits == 8 && (group == 0 || group >= depth);
}

/* Windows that are copied at a time; none where they are the pixels of the input. */
static inline int32_t nnacl_packed_bytes_block(const nnacl_packed_layer *p, int32_t depth) {
    if (nnacl_packed_is_pixels(p)) {
        return 0;
    }
    const int32_t groups = NNACL_BYTES_COPIED / (int32_t)sizeof(float) / NNACL_BYTES_POSITIONS / depth;
    const int32_t most = NNACL_BYTES_MOST / NNACL_BYTES_POSITIONS;
    return NNACL_BYTES_POSITIONS * (groups < 1 ? 1 : groups < most ? groups : most);
}

static inline size_t nnacl_packed_bytes_workspace(const nnacl_packed_layer *p, int32_t depth) {
    const int32_t panels = nnacl_panel_count(p->out_c, NNACL_PANEL_F32);
    const int32_t columns = NNACL_PANEL_F32 * (panels < NNACL_BYTES_PANELS ? panels : NNACL_BYTES_PANELS);
    const int32_t positions = p->batch * p->out_h * p->out_w, block = nnacl_packed_bytes_block(p, depth);
    return sizeof(float) * (size_t)depth * ((size_t)columns + (size_t)(positions < block ? positions : block));
}

/* Whether so many positions are split between threads; else the panels are. */
static inline bool nnacl_packed_bytes_by_positions(int32_t positions) {
    return positions >= 16 * NNACL_BYTES_POSITIONS;
}

static inline int32_t nnacl_packed_bytes_groups(int32_t positions) {
    return (positions + NNACL_BYTES_POSITIONS - 1) / NNACL_BYTES_POSITIONS;
}

static inline int32_t nnacl_packed_bytes_parts(int32_t positions, int32_t channels) {
    return nnacl_packed_bytes_by_positions(positions) ? nnacl_packed_bytes_groups(positions)
                                                      : nnacl_panel_count(channels, NNACL_PANEL_F32);
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
