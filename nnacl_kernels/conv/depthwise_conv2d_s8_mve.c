/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"
#include "common/requant.h"
#include "conv/conv.h"
#include "conv/depthwise_3x3_mve.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_mve);

/* --- 3 x 3 taps: the ring holds bytes, of a position along the sweep those of the three rows ---------------------- */

static void fill(const nnacl_sweep *s, const int8_t *x, int32_t slot, int32_t channels) {
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

typedef void (*row_function)(const nnacl_depthwise_3x3_mve *row);

/* One row of outputs, some or all channels requantized exactly. */
static void run_exact(const nnacl_sweep *s, row_function run, const nnacl_depthwise_3x3_mve *row, int32_t channel) {
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

static void begin(const nnacl_sweep *s, int32_t channel, int32_t channels) {
    nnacl_unpack_3x3_mve(s->taps + (ptrdiff_t)channel * s->multiplier * 9, s->weights, channels * s->multiplier);
    nnacl_depthwise_3x3_mve *row = s->row;
    row->channels = channels;
    row->count = s->count;
}

static void run(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y) {
    const row_function row_of =
        s->sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_mve : nnacl_depthwise_3x3_stride2_mve;
    nnacl_depthwise_3x3_mve *row = s->row;
    row->weights = (const int8_t *)s->weights + slot * 16;
    row->lines = s->lines + 3 * channel * s->multiplier;
    row->y = y;
    for (int32_t m = 0; m < s->multiplier; m++) {
        if (!NNACL_NEEDS_EXACT || !s->is_exact) {
            row_of(row);
        } else {
            run_exact(s, row_of, row, channel * s->multiplier + m);
        }
        row->weights += NNACL_SWEEP_WEIGHTS_MVE;
        row->lines += 3;
        row->y++;
    }
}

/* This and run_taps() apart from each other, so that neither has what the other keeps on the stack. */
static NNACL_NOINLINE void run_3x3(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                   const int32_t *packed, int8_t *y, nnacl_range share) {
    static const nnacl_sweep_steps steps = {NNACL_SWEEP_CHANNELS_MVE, begin, fill, run};
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

/* --- any taps ------------------------------------------------------------------------------------------------------
 */

static nnacl_taps_groups groups_of(const nnacl_conv2d_params *p) {
    return NNACL_NEEDS_W_ZERO && p->w_zero ? nnacl_taps_s16_mve : nnacl_taps_s8_mve;
}

static void run_group(const nnacl_conv2d_params *p, nnacl_taps *at) {
    const nnacl_taps_groups groups = groups_of(p);
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

static NNACL_NOINLINE void run_taps(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                    const int32_t *packed, int8_t *y, nnacl_range share) {
    const nnacl_taps_walk walk = {.width = 8,
                                  .group_words = NNACL_TAPS_WORDS_MVE,
                                  .ends = 16,
                                  .first = packed + 1,
                                  .all = groups_of(p),
                                  .one = run_group};
    nnacl_walk_taps(ctx, p, x, NNACL_NEEDS_EXACT && packed[0] & NNACL_LINES_MIXED, -NNACL_SHIFT_OF(packed[0]), y, share,
                    &walk);
}

void nnacl_depthwise_conv2d_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t *packed = in[1];
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    if (nnacl_depthwise_has_sweep(p) && !(NNACL_NEEDS_W_ZERO && p->w_zero)) {
        run_3x3(ctx, p, in[0], packed, out[0], share);
    } else {
        run_taps(ctx, p, in[0], packed, out[0], share);
    }
    const int32_t row = p->out_w * p->out_c;
    nnacl_clamp_bytes((int8_t *)out[0] + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min,
                      p->q_max);
}
