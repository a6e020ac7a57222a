/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernels that multiply many positions by panels of 16 columns split their work. Portable. */
#ifndef NNACL_PACKED_BLOCKS_H
#define NNACL_PACKED_BLOCKS_H

#include "common/panels.h"
#include "common/share.h"
#include "quant/packed_columns.h"

/* Positions that stay together when the work is split: whole tiles of 6 and of 8 rows. */
#define NNACL_PACKED_BLOCK 24
/* Bytes of windows that are written down at a time. */
#define NNACL_PACKED_BYTES 262144

/* Whether windows are the pixels of the input, one after the other. */
static inline bool nnacl_packed_is_pixels(const nnacl_packed_layer *p) {
    return p->kernel_h == 1 && p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 && p->out_h == p->in_h &&
           p->out_w == p->in_w && p->stride_h == 1 && p->stride_w == 1;
}

/* Windows of `bytes` bytes that are written down at a time: whole blocks of positions, at most `most`. */
static inline int32_t nnacl_packed_windows(int32_t bytes, int32_t most) {
    const int32_t blocks = NNACL_PACKED_BYTES / NNACL_PACKED_BLOCK / bytes;
    return NNACL_PACKED_BLOCK * (blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* Whether so many positions are split between threads; else the panels are. */
static inline bool nnacl_packed_by_blocks(int32_t positions) {
    return positions >= 16 * NNACL_PACKED_BLOCK;
}

static inline int32_t nnacl_packed_blocks(int32_t positions) {
    return (positions + NNACL_PACKED_BLOCK - 1) / NNACL_PACKED_BLOCK;
}

static inline int32_t nnacl_packed_block_parts(int32_t positions, int32_t channels) {
    return nnacl_packed_by_blocks(positions) ? nnacl_packed_blocks(positions)
                                             : nnacl_panel_count(channels, NNACL_PANEL_F32);
}

/* The positions and panels of this part of the work. */
static inline void nnacl_packed_block_share(const nnacl_ctx *ctx, int32_t positions, int32_t channels, nnacl_range *all,
                                            nnacl_range *panels) {
    *all = (nnacl_range){0, positions};
    *panels = (nnacl_range){0, nnacl_panel_count(channels, NNACL_PANEL_F32)};
    if (nnacl_packed_by_blocks(positions)) {
        const nnacl_range blocks = nnacl_share(ctx, nnacl_packed_blocks(positions));
        const int32_t end = blocks.end * NNACL_PACKED_BLOCK;
        *all = (nnacl_range){blocks.begin * NNACL_PACKED_BLOCK, end < positions ? end : positions};
    } else {
        *panels = nnacl_share(ctx, panels->end);
    }
}

#endif
