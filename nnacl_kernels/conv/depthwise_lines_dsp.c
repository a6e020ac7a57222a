/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/depthwise_lines_dsp.h"

#include "common/requant.h"
#include "conv/depthwise_3x3_dsp.h"

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

/* What the steps of a sweep know beside it. */
typedef struct sweep_row {
    nnacl_sweep_row row;
    const nnacl_depthwise_lines *lines;
} sweep_row;

static bool unpacks(const nnacl_depthwise_lines *lines) {
    return NNACL_NEEDS_COMPACT && (!NNACL_NEEDS_WIDE || lines->shift == NNACL_COMPACT_SHIFT);
}

static void begin(const nnacl_sweep *s, int32_t channel, int32_t channels) {
    uint32_t *weights = s->weights;
    sweep_row *at = s->row;
    const int32_t first = channel * s->multiplier, zero = NNACL_NEEDS_W_ZERO ? s->p->w_zero : 0;
    const int32_t factor = unpacks(at->lines) ? 256 : 1;
    const int8_t *taps = s->taps + (ptrdiff_t)first * 9;
    int32_t *line = (int32_t *)s->weights + NNACL_SWEEP_CHANNELS_DSP * s->multiplier * NNACL_SWEEP_WEIGHTS_DSP;
    for (int32_t output = 0; output < channels * s->multiplier; output++, taps += 9, line += 3) {
        int32_t sum = 0;
        for (int32_t i = 0; i < 5; i++) {
            const int8_t *w = taps + (i < 3 ? i : i - 3) * 3;
            const int32_t a = w[0] - zero, b = w[1] - zero, c = w[2] - zero;
            *weights++ = pair_of(a * factor, b * factor);
            *weights++ = pair_of(b * factor, c * factor);
            sum += i < 3 ? a + b + c : 0;
        }
        if (unpacks(at->lines)) {
            at->lines->unpack(at->lines, s->p, first + output, sum, line);
        }
    }
    at->row.channels = channels;
    at->row.count = s->count;
}

static void run(const nnacl_sweep *s, int32_t channel, int32_t slot, int8_t *y) {
    const nnacl_sweep_function run_row =
        s->sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_dsp : nnacl_depthwise_3x3_stride2_dsp;
    sweep_row *at = s->row;
    nnacl_sweep_row *row = &at->row;
    row->weights = (const int8_t *)s->weights + (slot ? NNACL_RING_ROWS - slot : 0) * 8;
    row->lines = s->lines + (unpacks(at->lines) ? 0 : 3 * channel * s->multiplier);
    row->y = y;
    nnacl_sweep_outputs(s, run_row, row, channel, 2, NNACL_SWEEP_WEIGHTS_DSP * 4);
}

/* This and run_taps() apart from each other, so that neither has what the other keeps on the stack. */
static NNACL_NOINLINE void run_3x3(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                                   const nnacl_depthwise_lines *lines) {
    static const nnacl_sweep_steps steps = {NNACL_SWEEP_CHANNELS_DSP, begin, fill, run};
    nnacl_sweep s;
    nnacl_sweep_begin(&s, p);
    uint32_t *weights = ctx->workspace;
    s.weights = weights;
    weights += NNACL_SWEEP_CHANNELS_DSP * s.multiplier * NNACL_SWEEP_WEIGHTS_DSP;
    s.shift = lines->shift;
    s.is_exact = lines->is_exact;
    s.lines = lines->lines;
    s.taps = lines->weights;
    if (unpacks(lines)) {
        s.lines = (const int32_t *)weights;
        weights += NNACL_SWEEP_CHANNELS_DSP * s.multiplier * 3;
    }
    s.ring_start = (int8_t *)weights;
    s.plane = nnacl_sweep_pairs(&s.sweep, s.sweep.out) * NNACL_RING_ROWS;
    sweep_row at = {
        .row =
            {
                .x = s.ring_start,
                .x_step = s.plane * 4,
                .weights_step = s.multiplier * NNACL_SWEEP_WEIGHTS_DSP * 4,
                .lines_step = s.multiplier * 12,
                .y_step = s.multiplier,
                .stride = s.y_along,
                .shift = s.shift,
            },
        .lines = lines,
    };
    s.row = &at;
    nnacl_sweep_all(&s, &steps, x, y, nnacl_share(ctx, p->batch * p->out_h));
}

/* --- any taps ------------------------------------------------------------------------------------------------------
 */

static nnacl_taps_groups groups_of(const nnacl_conv2d_params *p, int32_t shift) {
    if (NNACL_NEEDS_COMPACT && (!NNACL_NEEDS_WIDE || shift == NNACL_COMPACT_SHIFT)) {
        return nnacl_taps_high_s8_dsp;
    }
    return NNACL_NEEDS_W_ZERO && p->w_zero ? nnacl_taps_s16_dsp : nnacl_taps_s8_dsp;
}

static void run_group(const nnacl_conv2d_params *p, nnacl_taps *at) {
    int32_t sums[4];
    at->sums = sums;
    groups_of(p, at->shift)(at);
    const int32_t *line = at->lines + 4;
    for (int32_t i = 0; NNACL_NEEDS_EXACT && at->shift == 0 && i < 4; i++) {
        at->y[i] =
            nnacl_finish_exact(sums[i], line + 2 * i, nnacl_channel_rounding(p->rounding, p->out_c, at->channel + i),
                               p->y_zero, p->q_min, p->q_max);
    }
}

static NNACL_NOINLINE void run_taps(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                                    const nnacl_depthwise_lines *lines) {
    const nnacl_taps_walk walk = {.width = 4,
                                  .ends = 8,
                                  .first = (const int32_t *)(const void *)lines->weights,
                                  .lines = lines->lines,
                                  .line_words = NNACL_TAPS_LINES_DSP,
                                  .all = groups_of(p, lines->shift),
                                  .one = run_group};
    nnacl_walk_taps(ctx, p, x, NNACL_NEEDS_EXACT && lines->is_exact && lines->shift, lines->shift, y,
                    nnacl_share(ctx, p->batch * p->out_h), &walk);
}

void nnacl_depthwise_lines_dsp(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, int8_t *y,
                               const nnacl_depthwise_lines *lines) {
    if (nnacl_depthwise_sweeps_dsp(p)) {
        run_3x3(ctx, p, x, y, lines);
    } else {
        run_taps(ctx, p, x, y, lines);
    }
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    const int32_t row = p->out_w * p->out_c;
    nnacl_clamp_bytes(y + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min, p->q_max);
}
