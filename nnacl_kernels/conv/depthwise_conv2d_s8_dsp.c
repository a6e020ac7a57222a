/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8_dsp.h"
#include "common/finish_s8_dsp.h"
#include "common/requant.h"
#include "common/share.h"
#include "common/window.h"
#include "conv/conv.h"
#include "conv/depthwise_3x3_dsp.h"
#include "conv/depthwise_axes.h"

#include <string.h>

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_dsp);

static inline uint32_t pair_of(int32_t first, int32_t second) {
    return (uint32_t)(uint16_t)first | (uint32_t)second << 16;
}

/* --- 3 x 3 taps: see depthwise_axes.h --------------------------------------------------------------------------------
 */

/* Everything about one call that stays the same. Steps are in elements, those in the ring in words. */
typedef struct sweep {
    const nnacl_conv2d_params *p;
    nnacl_depthwise_axes axes;
    int32_t multiplier;
    int32_t x_along, x_across; /* from an input to the next along the sweep, and from a row of the ring to the next */
    int32_t y_along, y_across;
    int32_t shift;
    const int32_t *lines; /* of all output channels */
    int32_t first, count; /* outputs along the sweep that are wanted */
    uint32_t *weights;    /* of the output channels at hand */
    uint32_t *planes;     /* the ring, for each channel at hand; the three rows lie side by side */
    int32_t plane;
} sweep;

static void unpack_weights(const int8_t *taps, uint32_t *weights) {
    for (int32_t i = 0; i < NNACL_SWEEP_WEIGHTS; i += 2) {
        const int8_t *row = taps + (i < 6 ? i : i - 6) / 2 * 3;
        weights[i] = pair_of(row[0], row[1]);
        weights[i + 1] = pair_of(row[1], row[2]);
    }
}

/* Pairs begin .. end - 1 of a row for the channels at hand, all of them zero points. */
static void fill_zeros(const sweep *s, int32_t channels, int32_t begin, int32_t end, uint32_t *to) {
    const uint32_t zeros = pair_of(s->p->x_zero, s->p->x_zero);
    for (int32_t c = 0; c < channels; c++, to += s->plane) {
        for (int32_t pair = begin; pair < end; pair++) {
            to[pair * NNACL_RING_ROWS] = zeros;
        }
    }
}

/* The same one by one; what is outside of the input is the zero point. */
static void fill_pairs(const sweep *s, const int8_t *source, int32_t channels, int32_t origin, int32_t begin,
                       int32_t end, uint32_t *to) {
    const uint32_t in = (uint32_t)s->axes.sweep.in;
    int8_t zeros[NNACL_SWEEP_CHANNELS];
    memset(zeros, s->p->x_zero, sizeof zeros);
    for (int32_t pair = begin; pair < end; pair++) {
        const int32_t position = origin + 2 * pair;
        const int8_t *x = source + (ptrdiff_t)position * s->x_along;
        const int8_t *first = (uint32_t)position < in ? x : zeros;
        const int8_t *second = (uint32_t)(position + 1) < in ? x + s->x_along : zeros;
        uint32_t *word = to + pair * NNACL_RING_ROWS;
        if (channels == NNACL_SWEEP_CHANNELS) {
            nnacl_widen_pairs_dsp(first, second - first, word, s->plane * 4, 0, 1);
            continue;
        }
        for (int32_t c = 0; c < channels; c++) {
            word[c * s->plane] = pair_of(first[c], second[c]);
        }
    }
}

/* Widens row `row` of the ring's axis (which may lie in the padding) for the channels at hand, x being the first one of
 * the image, into its place in the ring. */
static void fill_row(const sweep *s, const int8_t *x, int32_t row, int32_t slot, int32_t channels) {
    const nnacl_axis *axis = &s->axes.sweep;
    const int32_t origin = s->first * axis->stride - axis->pad, pairs = nnacl_sweep_pairs(axis, s->count);
    uint32_t *to = s->planes + slot;
    if (row < 0 || row >= s->axes.ring.in) {
        fill_zeros(s, channels, 0, pairs, to);
        return;
    }
    const int8_t *source = x + (ptrdiff_t)row * s->x_across;
    /* pairs with something of the input, and among them those that lie wholly in it */
    const int32_t room = axis->in > origin ? axis->in - origin : 0;
    const int32_t before = origin < 0 ? -origin : 0;
    const int32_t some_begin = before / 2 < pairs ? before / 2 : pairs;
    const int32_t some_end = (room + 1) / 2 < pairs ? (room + 1) / 2 : pairs;
    int32_t begin = (before + 1) / 2, end = room / 2 < pairs ? room / 2 : pairs;
    if (channels == NNACL_SWEEP_CHANNELS && begin < end) {
        nnacl_widen_pairs_dsp(source + (ptrdiff_t)(origin + 2 * begin) * s->x_along, s->x_along,
                              to + begin * NNACL_RING_ROWS, s->plane * 4, NNACL_RING_ROWS * 4, end - begin);
    } else {
        begin = end = some_end;
    }
    fill_zeros(s, channels, 0, some_begin, to);
    fill_pairs(s, source, channels, origin, some_begin, begin, to);
    fill_pairs(s, source, channels, origin, end, some_end, to);
    fill_zeros(s, channels, some_end, pairs, to);
}

typedef void (*row_function)(const nnacl_depthwise_3x3_dsp *row);

/* One row of outputs of some channels, requantized exactly. */
static void run_exact(const sweep *s, row_function run, const nnacl_depthwise_3x3_dsp *row, int32_t channel) {
    for (int32_t i = 0; i < row->channels * s->count; i++) {
        const int32_t c = i / s->count, output = i % s->count, left = output % NNACL_SWEEP_BLOCK;
        nnacl_depthwise_3x3_dsp block = *row;
        block.channels = block.count = 1;
        block.x += c * s->plane + (output - left) / 2 * s->axes.sweep.stride * NNACL_RING_ROWS;
        block.weights += c * row->weights_step / 4;
        block.lines += c * row->lines_step / 4;
        if (left == 0) {
            run(&block);
        }
        row->y[c * row->y_step + output * row->stride] =
            nnacl_finish_exact_dsp(row->sums[left], block.lines + 1,
                                   nnacl_channel_rounding(s->p->rounding, s->p->out_c, channel + c * s->multiplier),
                                   s->p->y_zero, s->p->q_min, s->p->q_max);
    }
}

/* Outputs first .. last - 1 along the ring of an image, for the channels at hand. */
static void run_channels(const sweep *s, const int8_t *x, int8_t *y, int32_t channel, int32_t channels, int32_t first,
                         int32_t last) {
    const nnacl_axis *ring = &s->axes.ring;
    const row_function run =
        s->axes.sweep.stride == 1 ? nnacl_depthwise_3x3_stride1_dsp : nnacl_depthwise_3x3_stride2_dsp;
    int32_t sums[NNACL_SWEEP_BLOCK];
    nnacl_depthwise_3x3_dsp row = {
        .x = s->planes,
        .x_step = s->plane * 4,
        .weights_step = s->multiplier * NNACL_SWEEP_WEIGHTS * 4,
        .lines_step = s->multiplier * 12,
        .y_step = s->multiplier,
        .channels = channels,
        .count = s->count,
        .stride = s->y_along,
        .shift = s->shift,
        .sums = sums,
    };
    int32_t next = first * ring->stride; /* the first row that is not in the ring, the padding counted */
    int32_t slot = next % NNACL_RING_ROWS;
    for (int32_t output = first; output < last; output++) {
        const int32_t top = output * ring->stride;
        if (next < top) {
            next = top;
            slot = top % NNACL_RING_ROWS;
        }
        for (; next < top + NNACL_RING_ROWS; next++) {
            fill_row(s, x, next - ring->pad, slot, channels);
            slot = slot + 1 < NNACL_RING_ROWS ? slot + 1 : 0;
        }
        for (int32_t m = 0; m < s->multiplier; m++) { /* now slot is that of the first row of the windows */
            row.weights = s->weights + m * NNACL_SWEEP_WEIGHTS + (slot ? NNACL_RING_ROWS - slot : 0) * 2;
            row.lines = s->lines + 3 * (channel * s->multiplier + m);
            row.y = y + (ptrdiff_t)output * s->y_across + m;
            if (s->shift) {
                run(&row);
            } else {
                run_exact(s, run, &row, channel * s->multiplier + m);
            }
        }
    }
}

static void run_3x3(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, nnacl_depthwise_axes axes, const int8_t *x,
                    const int32_t *packed, int8_t *y, nnacl_range share) {
    const int32_t x_row = p->in_w * p->in_c, y_row = p->out_w * p->out_c;
    const bool swapped = axes.swapped;
    sweep s = {
        .p = p,
        .axes = axes,
        .multiplier = p->out_c / p->in_c,
        .x_along = swapped ? x_row : p->in_c,
        .x_across = swapped ? p->in_c : x_row,
        .y_along = swapped ? y_row : p->out_c,
        .y_across = swapped ? p->out_c : y_row,
        .shift = packed[0],
        .lines = packed + 1,
        .weights = ctx->workspace,
        .plane = nnacl_sweep_pairs(&axes.sweep, axes.sweep.out) * NNACL_RING_ROWS,
    };
    s.planes = s.weights + NNACL_SWEEP_CHANNELS * s.multiplier * NNACL_SWEEP_WEIGHTS;
    const int8_t *taps = (const int8_t *)(s.lines + 3 * p->out_c);
    for (int32_t c = 0; c < p->in_c; c += NNACL_SWEEP_CHANNELS) {
        const int32_t channels = p->in_c - c < NNACL_SWEEP_CHANNELS ? p->in_c - c : NNACL_SWEEP_CHANNELS;
        for (int32_t i = 0; i < channels * s.multiplier; i++, taps += 9) {
            unpack_weights(taps, s.weights + i * NNACL_SWEEP_WEIGHTS);
        }
        for (int32_t image = 0; image < p->batch; image++) {
            const int32_t begin = share.begin - image * p->out_h, end = share.end - image * p->out_h;
            const int32_t first = begin > 0 ? begin : 0, last = end < p->out_h ? end : p->out_h;
            const int8_t *source = x + (ptrdiff_t)image * p->in_h * x_row + c;
            int8_t *target = y + (ptrdiff_t)image * p->out_h * y_row + c * s.multiplier;
            s.first = swapped ? first : 0;
            s.count = swapped ? last - first : p->out_w;
            if (first < last) {
                run_channels(&s, source, target + (ptrdiff_t)s.first * s.y_along, c, channels, swapped ? 0 : first,
                             swapped ? p->out_w : last);
            }
        }
    }
}

/* --- any taps, output by output
 * --------------------------------------------------------------------------------------- */

/* Where the taps of an output position are; those in the padding point to zero points. */
static void find_taps(const nnacl_conv2d_params *p, const int8_t *image, int32_t row, int32_t column,
                      const int8_t *zeros, const int8_t **taps) {
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t y = row * p->stride_h - p->pad_top + ky * p->dilation_h;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t x = column * p->stride_w - p->pad_left + kx * p->dilation_w;
            const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
            *taps++ = inside ? image + ((ptrdiff_t)y * p->in_w + x) * p->in_c : zeros;
        }
    }
}

static void run_taps(const nnacl_conv2d_params *p, const nnacl_taps_dsp *at, int32_t group) {
    nnacl_taps_dsp one = *at;
    one.groups = 1;
    one.group += group * (at->count + NNACL_GROUP_WORDS_DSP);
    one.channel = nnacl_group_channel(p->in_c, group);
    one.y += one.channel;
    const int32_t *line = nnacl_taps_s8_dsp(&one) - 8;
    for (int32_t i = 0; at->shift == 0 && i < 4; i++) {
        one.y[i] = nnacl_finish_exact_dsp(one.sums[i], line + 2 * i,
                                          nnacl_channel_rounding(p->rounding, p->out_c, one.channel + i), p->y_zero,
                                          p->q_min, p->q_max);
    }
}

static void run_any(const nnacl_ctx *ctx, const nnacl_conv2d_params *p, const int8_t *x, const int32_t *packed,
                    int8_t *y, nnacl_range share) {
    const int8_t **taps = ctx->workspace;
    const int32_t count = p->kernel_h * p->kernel_w, groups = nnacl_channel_groups(p->in_c);
    int8_t *zeros = (int8_t *)(taps + count);
    int32_t sums[4];
    memset(zeros, p->x_zero, (size_t)p->in_c);
    for (int32_t row = share.begin; row < share.end; row++) {
        const int32_t image = row / p->out_h;
        for (int32_t column = 0; column < p->out_w; column++) {
            find_taps(p, x + (ptrdiff_t)image * p->in_h * p->in_w * p->in_c, row - image * p->out_h, column, zeros,
                      taps);
            nnacl_taps_dsp at = {.taps = taps,
                                 .count = count,
                                 .group = packed + 1,
                                 .groups = p->in_c / 4,
                                 .y = y + ((ptrdiff_t)row * p->out_w + column) * p->out_c,
                                 .shift = packed[0],
                                 .sums = sums};
            int32_t done = 0;
            if (at.shift) {
                nnacl_taps_s8_dsp(&at);
                done = at.groups;
            }
            for (int32_t group = done; group < groups; group++) {
                run_taps(p, &at, group);
            }
        }
    }
}

void nnacl_depthwise_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const nnacl_depthwise_axes axes = nnacl_depthwise_axes_of(p);
    const nnacl_range share = nnacl_share(ctx, p->batch * p->out_h);
    if (axes.possible) {
        run_3x3(ctx, p, axes, in[0], in[1], out[0], share);
    } else {
        run_any(ctx, p, in[0], in[1], out[0], share);
    }
    const int32_t row = p->out_w * p->out_c;
    nnacl_clamp_bytes_dsp((int8_t *)out[0] + (ptrdiff_t)share.begin * row, (share.end - share.begin) * row, p->q_min,
                          p->q_max);
}
