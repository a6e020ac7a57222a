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

typedef void (*nnacl_mve_row)(const nnacl_depthwise_3x3_mve *row);

/* One row of outputs, some or all channels requantized exactly. */
static void nnacl_mve_row_exact(const nnacl_sweep *s, nnacl_mve_row run, const nnacl_depthwise_3x3_mve *row,
                                int32_t channel) {
    int32_t sums[NNACL_SWEEP_BLOCK];
    for (int32_t i = 0; i < row->channels * s->count; i++) {
        const int32_t c = i / s->count, output = i % s->count, left = output % NNACL_SWEEP_BLOCK;
        nnacl_depthwise_3x3_mve block = *row;
        block.channels = block.count = 1;
        block.sums = sums;
        block.x += c * row->x_step + (output - left) * s->sweep.stride * NNACL_RING_ROWS;
        block.weights += c * row->weights_step;
        block.lines += c * row->lines_step / 4;
        if (row->shift && block.lines[1] >= 0) {
            block.count = s->count;
            block.y += c * row->y_step;
            run(&block);
            i += s->count - 1;
            continue;
        }
        block.shift = 0;
        if (left == 0) {
            run(&block);
        }
        row->y[c * row->y_step + output * row->stride] =
            nnacl_finish_exact(sums[left], block.lines + 1,
                               nnacl_channel_rounding(s->p->rounding, s->p->out_c, channel + c * s->multiplier),
                               s->p->y_zero, s->p->q_min, s->p->q_max);
    }
}

/* New channels, whose bytes of nine taps are at `taps`. */
static inline void nnacl_mve_begin(const nnacl_sweep *s, const int8_t *taps, int32_t channels) {
    nnacl_unpack_3x3_mve(taps, s->weights, channels * s->multiplier);
    nnacl_depthwise_3x3_mve *row = s->row;
    row->channels = channels;
    row->count = s->count;
}

static void nnacl_mve_run(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y) {
    const nnacl_mve_row row_of =
        s->sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_mve : nnacl_depthwise_3x3_stride2_mve;
    nnacl_depthwise_3x3_mve *row = s->row;
    row->weights = (const int8_t *)s->weights + slot * 16;
    row->lines = s->lines + 3 * channel * s->multiplier;
    row->y = y;
    for (int32_t m = 0; m < s->multiplier; m++) {
        if (!NNACL_NEEDS_EXACT || !s->is_exact) {
            row_of(row);
        } else {
            nnacl_mve_row_exact(s, row_of, row, channel * s->multiplier + m);
        }
        row->weights += NNACL_SWEEP_WEIGHTS_MVE;
        row->lines += 3;
        row->y++;
    }
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
    nnacl_depthwise_3x3_mve row = {
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
