/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear resize of s8 in fixed point, for kernels that make all elements of a place of y at once: each of them of
 * four of x, which need no room for sums. */
#ifndef NNACL_RESIZE_BLEND_S8_H
#define NNACL_RESIZE_BLEND_S8_H

#include "common/share.h"
#include "image/resize_taps.h"

/* y[c] = sum of x[i][c] * weight[i] / 2^bits, halves away from zero; bits at least 1. The source in assembly knows the
 * order of these fields. */
typedef struct nnacl_blend_s8 {
    const int8_t *x[4];
    int32_t weight[4];
    int32_t bits;
} nnacl_blend_s8;

/* `run` makes `count` (at least 1) elements. */
static inline void nnacl_resize_blend_s8(const nnacl_ctx *ctx, const nnacl_resize_params *p, const int8_t *x, int8_t *y,
                                         void (*run)(const nnacl_blend_s8 *blend, int32_t count, int8_t *y)) {
    nnacl_resize_scratch *s = nnacl_resize_start(p, ctx->workspace);
    const int32_t last = p->rank - 1, block = p->block;
    const ptrdiff_t x_row = (ptrdiff_t)p->from[last] * block, y_row = (ptrdiff_t)p->to[last] * block;
    const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const int8_t *from[2] = {x, x};
        int32_t factors[2] = {0, 0};
        nnacl_blend_s8 blend;
        blend.bits = 10;
        nnacl_resize_turn(p, s, row);
        for (int32_t i = 0; i < s->combinations; i++) {
            from[i] = x + nnacl_resize_source(p, s, i) * x_row;
            factors[i] = 1;
            for (int32_t j = 0; j < last; j++) {
                factors[i] *= ((const int32_t *)nnacl_resize_weights(p, s, j))[s->tap[j]];
            }
        }
        if (s->combinations == 2) {
            blend.bits = 20;
        }
        const int32_t *index = nnacl_resize_index(s, last), *weight = nnacl_resize_weights(p, s, last);
        int8_t *place = y + row * y_row;
        for (int32_t o = 0; o < p->to[last]; o++, index += 2, weight += 2, place += block) {
            for (int32_t i = 0; i < 4; i++) {
                blend.x[i] = from[i / 2] + (ptrdiff_t)index[i % 2] * block;
                blend.weight[i] = factors[i / 2] * weight[i % 2];
            }
            run(&blend, block, place);
        }
    }
}

#endif
