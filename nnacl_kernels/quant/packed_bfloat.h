/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernels that multiply bfloat16 split their work, and the scratch memory they take. Portable. */
#ifndef NNACL_PACKED_BFLOAT_H
#define NNACL_PACKED_BFLOAT_H

#include "common/panels_bfloat.h"
#include "quant/packed_columns.h"

/* Positions that stay together when the work is split: whole tiles of 6 and of 8 rows. */
#define NNACL_BFLOAT_POSITIONS 24
/* Bytes of rounded windows that are written down at a time, and the most windows. */
#define NNACL_BFLOAT_BYTES 262144
#define NNACL_BFLOAT_MOST 192

/* Windows that are written down at a time. */
static inline int32_t nnacl_packed_bfloat_block(int32_t depth) {
    const int32_t groups = NNACL_BFLOAT_BYTES / NNACL_BFLOAT_POSITIONS / nnacl_bfloat_row(depth);
    const int32_t most = NNACL_BFLOAT_MOST / NNACL_BFLOAT_POSITIONS;
    return NNACL_BFLOAT_POSITIONS * (groups < 1 ? 1 : groups < most ? groups : most);
}

static inline int32_t nnacl_packed_bfloat_groups(int32_t positions) {
    return (positions + NNACL_BFLOAT_POSITIONS - 1) / NNACL_BFLOAT_POSITIONS;
}

/* Whether so many positions are split between threads; else the panels are. */
static inline bool nnacl_packed_bfloat_by_positions(int32_t positions) {
    return positions >= 16 * NNACL_BFLOAT_POSITIONS;
}

/* Whether windows are the pixels of the input, one after the other. */
static inline bool nnacl_packed_is_pixels(const nnacl_packed_layer *p) {
    return p->kernel_h == 1 && p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 && p->out_h == p->in_h &&
           p->out_w == p->in_w && p->stride_h == 1 && p->stride_w == 1;
}

/* Bytes of a window of floats. */
static inline size_t nnacl_packed_bfloat_copy(const nnacl_packed_layer *p, int32_t depth) {
    return nnacl_packed_is_pixels(p) ? 0 : ((size_t)depth * sizeof(float) + 15) / 16 * 16;
}

static inline size_t nnacl_packed_bfloat_workspace(const nnacl_packed_layer *p, int32_t depth) {
    const int32_t positions = p->batch * p->out_h * p->out_w, block = nnacl_packed_bfloat_block(depth);
    return nnacl_packed_bfloat_copy(p, depth) +
           (size_t)(positions < block ? positions : block) * (size_t)nnacl_bfloat_row(depth);
}

static inline int32_t nnacl_packed_bfloat_parts(int32_t positions, int32_t channels) {
    return nnacl_packed_bfloat_by_positions(positions) ? nnacl_packed_bfloat_groups(positions)
                                                       : nnacl_panel_count(channels, NNACL_PANEL_BFLOAT);
}

#endif
