/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of two tensors of s8, row by row, for kernels that want a number for each element of both. */
#ifndef NNACL_BINARY_ROWS_S8_H
#define NNACL_BINARY_ROWS_S8_H

#include <string.h>

#include "common/finish_s8.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

#define NNACL_REPEATED 64 /* copies of an operand that is repeated along a row */

/* `row` computes `count` (at least 1) neighbours with what `constants` says; the results are clamped here. */
static inline void
nnacl_binary_rows_s8(const nnacl_ctx *ctx, const nnacl_binary_params *p, const void *const in[], void *const out[],
                     void (*row)(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants),
                     const void *constants) {
    const bool one_a = p->a_strides[p->rank - 1] == 0, one_b = p->b_strides[p->rank - 1] == 0;
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    const int32_t piece = one_a || one_b ? NNACL_REPEATED : walk.width;
    for (int32_t i = walk.row; i < walk.last_row; i++) {
        const int8_t *a = (const int8_t *)in[0] + nnacl_walk_offset(i, p->rank, p->dims, p->a_strides);
        const int8_t *b = (const int8_t *)in[1] + nnacl_walk_offset(i, p->rank, p->dims, p->b_strides);
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)i * walk.width;
        int8_t copies[NNACL_REPEATED];
        if (one_a || one_b) {
            memset(copies, one_a ? *a : *b, sizeof copies);
        }
        int32_t count;
        for (int32_t j = walk.begin; j < walk.end; j += count) {
            count = walk.end - j < piece ? walk.end - j : piece;
            row(one_a ? copies : a + j, one_b ? copies : b + j, y + j, count, constants);
        }
        if (walk.end > walk.begin) {
            nnacl_clamp_bytes(y + walk.begin, walk.end - walk.begin, p->q_min, p->q_max);
        }
    }
}

#endif
