/* SPDX-License-Identifier: Apache-2.0 */
/* What the depthwise convolutions of s8 for MVE have in common; how their weights are stored is theirs. */
#ifndef NNACL_DEPTHWISE_MVE_H
#define NNACL_DEPTHWISE_MVE_H

#include "common/finish_s8.h"
#include "common/requant.h"
#include "conv/conv.h"
#include "conv/depthwise_3x3_mve.h"

/* --- 3 x 3 taps: the ring holds bytes, of a position along the sweep those of the three rows ---------------------- */

static void nnacl_mve_fill(const nnacl_sweep *s, const int8_t *x, int32_t slot, int32_t channels) {
    const int32_t origin = s->first * s->sweep.stride - s->sweep.pad, positions = (s->count - 1) * s->sweep.stride + 3;
    int8_t zeros[NNACL_SWEEP_CHANNELS_MVE], *to = s->ring_start + slot;
    const int32_t before = origin < 0 ? (-origin < positions ? -origin : positions) : 0;
    const int32_t room = s->sweep.in - origin, end = !x || room < before ? before : room < positions ? room : positions;
    memset(zeros, s->p->x_zero, sizeof zeros);
    if (before > 0) {
        nnacl_strew_mve(zeros, 0, to, s->plane, channels, before);
    }
    if (end > before) {
        nnacl_strew_mve(x + (ptrdiff_t)(origin + before) * s->x_along, s->x_along, to + before * NNACL_RING_ROWS,
                        s->plane, channels, end - before);
    }
    if (positions > end) {
        nnacl_strew_mve(zeros, 0, to + end * NNACL_RING_ROWS, s->plane, channels, positions - end);
    }
}

/* New channels, whose bytes of nine taps are at `taps`. */
static inline void nnacl_mve_begin(const nnacl_sweep *s, const int8_t *taps, int32_t channels) {
    nnacl_unpack_3x3_mve(taps, s->weights, channels * s->multiplier);
    nnacl_sweep_row *row = s->row;
    row->channels = channels;
    row->count = s->count;
}

static void nnacl_mve_run(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y) {
    const nnacl_sweep_function run =
        s->sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_mve : nnacl_depthwise_3x3_stride2_mve;
    nnacl_sweep_row *row = s->row;
    row->weights = (const int8_t *)s->weights + slot * 16;
    row->lines = s->lines + 3 * channel * s->multiplier;
    row->y = y;
    nnacl_sweep_outputs(s, run, row, channel, 1, NNACL_SWEEP_WEIGHTS_MVE);
}

/* Rows of outputs; `begin` calls nnacl_mve_begin(), with s->taps behind the lines. */
static inline void nnacl_mve_sweep(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                   const int32_t *packed, int8_t *y, nnacl_range share,
                                   void (*begin)(const nnacl_sweep *s, int32_t channel, int32_t channels)) {
    const nnacl_sweep_steps steps = {NNACL_SWEEP_CHANNELS_MVE, begin, nnacl_mve_fill, nnacl_mve_run};
    nnacl_sweep s;
    nnacl_sweep_begin(&s, p);
    nnacl_sweep_wide_lines(&s, packed);
    s.weights = ctx->workspace;
    s.ring_start = (int8_t *)ctx->workspace + NNACL_SWEEP_CHANNELS_MVE * s.multiplier * NNACL_SWEEP_WEIGHTS_MVE;
    s.plane = nnacl_sweep_plane_mve(&s.sweep);
    nnacl_sweep_row row = {
        .x = s.ring_start,
        .x_step = s.plane,
        .weights_step = s.multiplier * NNACL_SWEEP_WEIGHTS_MVE,
        .lines_step = s.multiplier * 12,
        .y_step = s.multiplier,
        .stride = s.y_along,
        .shift = -s.shift,
    };
    s.row = &row;
    nnacl_sweep_all(&s, &steps, x, y, share);
}

/* --- any taps ---------------------------------------------------------------------------------------------------- */

/* One group, exactly when it has no lines. */
static inline void nnacl_mve_taps_group(const nnacl_conv2d_params *p, nnacl_taps *at, nnacl_taps_groups groups) {
    int32_t sums[8];
    at->sums = sums;
    const int32_t *ends = groups(at) - 16;
    for (int32_t i = 0; NNACL_NEEDS_EXACT && at->shift == 0 && i < 8; i++) {
        const int32_t place = i / 2 + i % 2 * 4, requant[2] = {ends[place], ends[8 + place]};
        at->y[i] =
            nnacl_finish_exact(sums[place], requant, nnacl_channel_rounding(p->rounding, p->out_c, at->channel + i),
                               p->y_zero, p->q_min, p->q_max);
    }
}

#endif
