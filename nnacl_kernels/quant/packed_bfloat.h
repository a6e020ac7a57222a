/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch memory of the kernels that multiply bfloat16. Portable. */
#ifndef NNACL_PACKED_BFLOAT_H
#define NNACL_PACKED_BFLOAT_H

#include "common/panels_bfloat.h"
#include "quant/packed_blocks.h"

_Static_assert(NNACL_PANEL_BFLOAT == NNACL_PANEL_F32, "the panels are counted by packed_blocks.h");

/* Blocks of rounded windows that are written down at a time, at most. */
#define NNACL_BFLOAT_BLOCKS 8

/* Windows that are written down at a time. */
static inline int32_t nnacl_packed_bfloat_windows(int32_t depth) {
    return nnacl_packed_windows(nnacl_bfloat_row(depth), NNACL_BFLOAT_BLOCKS);
}

/* Bytes of a window of floats. */
static inline size_t nnacl_packed_bfloat_copy(const nnacl_packed_layer *p, int32_t depth) {
    return nnacl_packed_is_pixels(p) ? 0 : ((size_t)depth * sizeof(float) + 15) / 16 * 16;
}

static inline size_t nnacl_packed_bfloat_workspace(const nnacl_packed_layer *p, int32_t depth) {
    const int32_t positions = p->batch * p->out_h * p->out_w, block = nnacl_packed_bfloat_windows(depth);
    return nnacl_packed_bfloat_copy(p, depth) +
           (size_t)(positions < block ? positions : block) * (size_t)nnacl_bfloat_row(depth);
}

#endif
