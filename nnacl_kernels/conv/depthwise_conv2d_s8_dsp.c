/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s8.h"
#include "common/requant.h"
#include "conv/conv.h"
#include "conv/depthwise_3x3_dsp.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_dsp);

/* --- 3 x 3 taps: the ring holds words, of which each has two neighbours along the sweep --------------------------- */

static inline uint32_t pair_of(int32_t first, int32_t second) {
    return (uint32_t)(uint16_t)first | (uint32_t)second << 16;
}

/* Pairs begin .. end - 1 of a row, all of them zero points. */
static void fill_zeros(const nnacl_sweep *s, int32_t channels, int32_t begin, int32_t end, uint32_t *to) {
    const uint32_t zeros = pair_of(s->p->x_zero, s->p->x_zero);
    for (int32_t c = 0; c < channels; c++, to += s->plane) {
        for (int32_t pair = begin; pair < end; pair++) {
            to[pair * NNACL_RING_ROWS] = zeros;
        }
    }
}

/* The same one by one; what is outside of the input is the zero point. */
static void fill_pairs(const nnacl_sweep *s, const int8_t *source, int32_t channels, int32_t origin, int32_t begin,
                       int32_t end, uint32_t *to) {
    const uint32_t in = (uint32_t)s->sweep.in;
    int8_t zeros[NNACL_SWEEP_CHANNELS_DSP];
    memset(zeros, s->p->x_zero, sizeof zeros);
    for (int32_t pair = begin; pair < end; pair++) {
        const int32_t position = origin + 2 * pair;
        const int8_t *x = source + (ptrdiff_t)position * s->x_along;
        const int8_t *first = (uint32_t)position < in ? x : zeros;
        const int8_t *second = (uint32_t)(position + 1) < in ? x + s->x_along : zeros;
        uint32_t *word = to + pair * NNACL_RING_ROWS;
        if (channels == NNACL_SWEEP_CHANNELS_DSP) {
            nnacl_widen_pairs_dsp(first, second - first, word, s->plane * 4, 0, 1);
            continue;
        }
        for (int32_t c = 0; c < channels; c++) {
            word[c * s->plane] = pair_of(first[c], second[c]);
        }
    }
}

static void fill(const nnacl_sweep *s, const int8_t *x, int32_t slot, int32_t channels) {
    const int32_t origin = s->first * s->sweep.stride - s->sweep.pad, pairs = nnacl_sweep_pairs(&s->sweep, s->count);
    uint32_t *to = (uint32_t *)(void *)s->ring_start + slot;
    if (!x) {
        fill_zeros(s, channels, 0, pairs, to);
        return;
    }
    /* pairs with something of the input, and among them those that lie wholly in it */
    const int32_t room = s->sweep.in > origin ? s->sweep.in - origin : 0, before = origin < 0 ? -origin : 0;
    const int32_t some_begin = before / 2 < pairs ? before / 2 : pairs;
    const int32_t some_end = (room + 1) / 2 < pairs ? (room + 1) / 2 : pairs;
    int32_t begin = (before + 1) / 2, end = room / 2 < pairs ? room / 2 : pairs;
    if (channels == NNACL_SWEEP_CHANNELS_DSP && begin < end) {
        nnacl_widen_pairs_dsp(x + (ptrdiff_t)(origin + 2 * begin) * s->x_along, s->x_along,
                              to + begin * NNACL_RING_ROWS, s->plane * 4, NNACL_RING_ROWS * 4, end - begin);
    } else {
        begin = end = some_end;
    }
    fill_zeros(s, channels, 0, some_begin, to);
    fill_pairs(s, x, channels, origin, some_begin, begin, to);
    fill_pairs(s, x, channels, origin, end, some_end, to);
    fill_zeros(s, channels, some_end, pairs, to);
}

typedef void (*row_function)(const nnacl_depthwise_3x3_dsp *row);

/* One row of outputs, some or all channels requantized exactly. */
static void run_exact(const nnacl_sweep *s, row_function run, const nnacl_depthwise_3x3_dsp *row, int32_t channel) {
    int32_t sums[NNACL_SWEEP_BLOCK];
    for (int32_t i = 0; i < row->channels * s->count; i++) {
        const int32_t c = i / s->count, output = i % s->count, left = output % NNACL_SWEEP_BLOCK;
        nnacl_depthwise_3x3_dsp block = *row;
        block.channels = block.count = 1;
        block.sums = sums;
        block.x += c * s->plane + (output - left) / 2 * s->sweep.stride * NNACL_RING_ROWS;
        block.weights += c * row->weights_step / 4;
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
    uint32_t *weights = s->weights;
    const int8_t *taps = s->taps + (ptrdiff_t)channel * s->multiplier * 9;
    const int32_t zero = NNACL_NEEDS_W_ZERO ? s->p->w_zero : 0;
    for (int32_t output = 0; output < channels * s->multiplier; output++, taps += 9) {
        for (int32_t i = 0; i < 5; i++) {
            const int8_t *w = taps + (i < 3 ? i : i - 3) * 3;
            *weights++ = pair_of(w[0] - zero, w[1] - zero);
            *weights++ = pair_of(w[1] - zero, w[2] - zero);
        }
    }
    nnacl_depthwise_3x3_dsp *row = s->row;
    row->channels = channels;
    row->count = s->count;
}

static void run(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y) {
    const row_function row_of =
        s->sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_dsp : nnacl_depthwise_3x3_stride2_dsp;
    nnacl_depthwise_3x3_dsp *row = s->row;
    row->weights = (const uint32_t *)s->weights + (slot ? NNACL_RING_ROWS - slot : 0) * 2;
    row->lines = s->lines + 3 * channel * s->multiplier;
    row->y = y;
    for (int32_t m = 0; m < s->multiplier; m++) {
        if (!NNACL_NEEDS_EXACT || !s->is_exact) {
            row_of(row);
        } else {
            run_exact(s, row_of, row, channel * s->multiplier + m);
        }
        row->weights += NNACL_SWEEP_WEIGHTS_DSP;
        row->lines += 3;
        row->y++;
    }
}

/* This and run_taps() apart from each other, so that neither has what the other keeps on the stack. */
static NNACL_NOINLINE void run_3x3(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                   const int32_t *packed, int8_t *y, nnacl_range share) {
    static const nnacl_sweep_steps steps = {NNACL_SWEEP_CHANNELS_DSP, begin, fill, run};
    nnacl_sweep s;
    nnacl_sweep_begin(&s, p, packed);
    uint32_t *weights = ctx->workspace;
    s.weights = weights;
    s.ring_start = (int8_t *)(weights + NNACL_SWEEP_CHANNELS_DSP * s.multiplier * NNACL_SWEEP_WEIGHTS_DSP);
    s.plane = nnacl_sweep_pairs(&s.sweep, s.sweep.out) * NNACL_RING_ROWS;
    nnacl_depthwise_3x3_dsp row = {
        .x = (const uint32_t *)(const void *)s.ring_start,
        .x_step = s.plane * 4,
        .weights_step = s.multiplier * NNACL_SWEEP_WEIGHTS_DSP * 4,
        .lines_step = s.multiplier * 12,
        .y_step = s.multiplier,
        .stride = s.y_along,
        .shift = s.shift,
    };
    s.row = &row;
    nnacl_sweep_all(&s, &steps, x, y, share);
}

/* --- any taps ------------------------------------------------------------------------------------------------------
 */

static nnacl_taps_groups groups_of(const nnacl_conv2d_params *p) {
    return NNACL_NEEDS_W_ZERO && p->w_zero ? nnacl_taps_s16_dsp : nnacl_taps_s8_dsp;
}

static void run_group(const nnacl_conv2d_params *p, nnacl_taps *at) {
    const nnacl_taps_groups groups = groups_of(p);
    int32_t sums[4];
    at->sums = sums;
    const int32_t *line = groups(at) - 8;
    for (int32_t i = 0; NNACL_NEEDS_EXACT && at->shift == 0 && i < 4; i++) {
        at->y[i] =
            nnacl_finish_exact(sums[i], line + 2 * i, nnacl_channel_rounding(p->rounding, p->out_c, at->channel + i),
                               p->y_zero, p->q_min, p->q_max);
    }
}

static NNACL_NOINLINE void run_taps(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x,
                                    const int32_t *packed, int8_t *y, nnacl_range share) {
    const nnacl_taps_walk walk = {4, NNACL_TAPS_WORDS_DSP, 8, groups_of(p), run_group};
    nnacl_walk_taps(ctx, p, x, packed, NNACL_SHIFT_OF(packed[0]), y, share, &walk);
}

void nnacl_depthwise_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const int32_t *packed = in[1];
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    if (nnacl_depthwise_has_sweep(p)) {
        run_3x3(ctx, p, in[0], packed, out[0], share);
    } else {
        run_taps(ctx, p, in[0], packed, out[0], share);
    }
    const int32_t row = p->out_w * p->out_c;
    nnacl_clamp_bytes((int8_t *)out[0] + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min,
                      p->q_max);
}
