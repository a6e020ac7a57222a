/* SPDX-License-Identifier: Apache-2.0 */
/* The requantization of a channel as one straight line, for kernels that cannot afford the steps of requant.h:
 *
 *     y = saturate(((((int64_t)(sum + start) * multiplier) >> 32) + offset) >> shift)
 *
 * A requantized channel is a staircase over the accumulator: it rises by 1 at each of at most 255 thresholds. Whatever
 * the rounding contract, a line with the same thresholds gives the same bytes. nnacl_line_fit() looks for one that is
 * exact for every accumulator that the weights can bring about, and says so when it finds none. Portable: plan halves
 * pack for any target.
 */
#ifndef NNACL_REQUANT_LINE_H
#define NNACL_REQUANT_LINE_H

#include "common/finish_s8.h"
#include "common/requant.h"

/* The bits of a result behind the point, in the order in which they are tried; all channels of a layer have the same.
 * With more there are more lines to choose from, but factors of 2^-shift and above do not fit the multiplier. */
#define NNACL_LINE_SHIFTS                                                                                              \
    { 4, 1 }
#define NNACL_LINE_SHIFT_COUNT 2

/* How far the search goes: multipliers to either side of the nearest one, offsets to either side of the least one. */
#define NNACL_LINE_MULTIPLIERS 64
#define NNACL_LINE_OFFSETS 2048

typedef struct nnacl_line {
    int32_t start, multiplier, offset;
} nnacl_line;

/* The requantization of one channel, as it stands in the requant input and the parameters of its op. */
typedef struct nnacl_line_channel {
    const void *requant;
    int32_t channels, channel;
    int32_t rounding, zero, q_min, q_max;
} nnacl_line_channel;

/* The accumulators that a channel can have. */
typedef struct nnacl_line_range {
    int64_t low, high;
} nnacl_line_range;

static inline int32_t nnacl_line_value(const nnacl_line_channel *c, int32_t sum) {
    return nnacl_requant_channel(sum, c->requant, c->channels, c->channel, c->rounding, c->zero, c->q_min, c->q_max);
}

/* Whether a greater accumulator never gives a lesser value: a left shift would drop high bits. */
static inline bool nnacl_line_is_monotonic(const nnacl_line_channel *c) {
    return c->rounding == NNACL_ROUND_FLOAT_EVEN || ((const int32_t *)c->requant)[c->channels + c->channel] <= 0;
}

/* The thresholds of a channel: at[i] is the least accumulator with a value above first + i. */
typedef struct nnacl_line_steps {
    int32_t first, last; /* the values at both ends of the range */
    int32_t at[256];
} nnacl_line_steps;

static inline void nnacl_line_find_steps(const nnacl_line_channel *c, int32_t low, int32_t high, nnacl_line_steps *s) {
    s->first = nnacl_line_value(c, low);
    s->last = nnacl_line_value(c, high);
    int32_t below = low;
    for (int32_t value = s->first; value < s->last; value++) {
        int32_t above = high;
        /* the steps are about equally long: look near the end of the next one first */
        const int32_t length = value > s->first + 1 ? s->at[value - s->first - 1] - s->at[value - s->first - 2] : 0;
        const int32_t near = high - below > length + 2 ? below + length + 2 : high;
        if (length > 0 && nnacl_line_value(c, near) > value) {
            above = near;
        }
        while (above - below > 1) {
            const int32_t middle = below + (above - below) / 2;
            *(nnacl_line_value(c, middle) > value ? &above : &below) = middle;
        }
        s->at[value - s->first] = above;
        below = above - 1;
    }
}

/* What 1 in the result is before the shifts. */
static inline int64_t nnacl_line_unit(int32_t shift) {
    return (int64_t)1 << (32 + shift);
}

/* The multiplier next to the real factor, or 0 when that is too large. */
static inline int64_t nnacl_line_multiplier(const nnacl_line_channel *c, int32_t shift) {
    if (c->rounding == NNACL_ROUND_FLOAT_EVEN) {
        const double scaled = (double)((const float *)c->requant)[c->channel] * (double)nnacl_line_unit(shift);
        return scaled < (double)INT32_MAX ? (int64_t)(scaled + 0.5) : 0;
    }
    const int32_t *rows = (const int32_t *)c->requant;
    const int32_t left = rows[c->channels + c->channel] + 1 + shift;
    if (left > 0) {
        return 0;
    }
    return left < -31 ? 1 : nnacl_round_shift_away(rows[c->channel], -left);
}

/* The interval of lines through the steps with a slope: unit * y = multiplier * sum + rise, least <= rise < limit. */
static inline bool nnacl_line_rises(const nnacl_line_channel *c, const nnacl_line_steps *s, int32_t low, int32_t high,
                                    int32_t shift, int64_t multiplier, int64_t *least, int64_t *limit) {
    const int64_t unit = nnacl_line_unit(shift);
    *least = INT64_MIN;
    *limit = INT64_MAX;
    for (int32_t i = 0; i < s->last - s->first; i++) {
        const int64_t bound = (s->first + i + 1) * unit - s->at[i] * multiplier;
        *least = bound > *least ? bound : *least;
        *limit = bound + multiplier < *limit ? bound + multiplier : *limit;
    }
    if (s->first > c->q_min) { /* at q_min the kernel clamps */
        const int64_t bound = s->first * unit - low * multiplier;
        *least = bound > *least ? bound : *least;
    }
    if (s->last < c->q_max) {
        const int64_t bound = (s->last + 1) * unit - high * multiplier;
        *limit = bound < *limit ? bound : *limit;
    }
    return *least < *limit;
}

/* value / divisor, rounded up; divisor > 0. */
static inline int64_t nnacl_line_divide_up(int64_t value, int64_t divisor) {
    return value > 0 ? (value - 1) / divisor + 1 : -(-value / divisor);
}

/* A rise in least .. limit - 1 that is a sum of whole multipliers (start) and whole 2^32 (offset). */
static inline bool nnacl_line_split(int64_t least, int64_t limit, int64_t multiplier, nnacl_line *line) {
    const int64_t middle = least / ((int64_t)1 << 32);
    for (int32_t i = 0; i <= 2 * NNACL_LINE_OFFSETS; i++) {
        const int64_t offset = middle + (i % 2 ? -(i + 1) / 2 : i / 2);
        const int64_t rest = offset * ((int64_t)1 << 32);
        const int64_t start = nnacl_line_divide_up(least - rest, multiplier);
        if (start * multiplier + rest < limit && start > INT32_MIN / 2 && start < INT32_MAX / 2) {
            line->start = (int32_t)start;
            line->multiplier = (int32_t)multiplier;
            line->offset = (int32_t)offset;
            return true;
        }
    }
    return false;
}

/* A line with `shift` for a channel with accumulators in `range`, or false. What is clamped at q_min or q_max in the
 * channel is below or above there in the line, and left to the kernel to clamp. */
static inline bool nnacl_line_fit(const nnacl_line_channel *c, nnacl_line_range range, int32_t shift,
                                  nnacl_line *line) {
    if (range.low < INT32_MIN || range.high > INT32_MAX || (range.low != range.high && !nnacl_line_is_monotonic(c))) {
        return false;
    }
    const int32_t low = (int32_t)range.low, high = (int32_t)range.high;
    if (nnacl_line_value(c, low) == nnacl_line_value(c, high)) {
        line->start = line->multiplier = 0;
        line->offset = nnacl_line_value(c, low) * (1 << shift);
        return true;
    }
    const int64_t nearest = nnacl_line_multiplier(c, shift);
    if (nearest <= 0 || low < INT32_MIN / 2 || high > INT32_MAX / 2) {
        return false;
    }
    nnacl_line_steps steps;
    nnacl_line_find_steps(c, low, high, &steps);
    for (int32_t i = 0; i <= 2 * NNACL_LINE_MULTIPLIERS; i++) {
        const int64_t multiplier = nearest + (i % 2 ? -(i + 1) / 2 : i / 2);
        int64_t least, limit;
        if (multiplier > 0 && multiplier <= INT32_MAX &&
            nnacl_line_rises(c, &steps, low, high, shift, multiplier, &least, &limit) &&
            nnacl_line_split(least, limit, multiplier, line)) {
            return true;
        }
    }
    return false;
}

/* All channels of a convolution or dense layer with one zero point of the weights, or with codes of few bits. */
typedef struct nnacl_line_layer {
    const int8_t *weights; /* element i of channel c: weights[c * channel_step + i * element_step], or in that row the
                            * i-th code, the first in the lowest bits: a weight of offset + step * code */
    ptrdiff_t channel_step, element_step;
    int32_t depth, channels;
    const int32_t *bias; /* or NULL */
    const void *requant;
    int32_t rounding, x_zero, w_zero, y_zero, q_min, q_max;
    int32_t bits, offset, step; /* of codes; bits 0: bytes */
} nnacl_line_layer;

/* For an initialiser: the inputs of the layer, and what its parameters have under the same names. */
#define NNACL_LINES_SAME(p, in)                                                                                        \
    .bias = (p)->has_bias ? (in)[2] : NULL, .requant = (in)[3], .rounding = (p)->rounding, .x_zero = (p)->x_zero,      \
    .y_zero = (p)->y_zero, .q_min = (p)->q_min, .q_max = (p)->q_max

static inline int32_t nnacl_line_code(const nnacl_line_layer *l, int32_t channel, int32_t i) {
    const uint8_t *row = (const uint8_t *)l->weights + channel * l->channel_step;
    const int32_t each = 8 / l->bits;
    return row[i / each] >> i % each * l->bits & ((1 << l->bits) - 1);
}

/* Without its zero point. */
static inline int32_t nnacl_line_weight(const nnacl_line_layer *l, int32_t channel, int32_t i) {
    return l->bits ? l->offset + l->step * nnacl_line_code(l, channel, i)
                   : l->weights[channel * l->channel_step + i * l->element_step] - l->w_zero;
}

/* The accumulators of a channel, whatever the input, and in *fixed what is the same in all: bias and zero point. */
static inline nnacl_line_range nnacl_line_accumulators(const nnacl_line_layer *l, int32_t channel, int32_t *fixed) {
    const int32_t bias = l->bias ? l->bias[channel] : 0;
    nnacl_line_range range = {bias, bias};
    uint32_t sum = 0;
    for (int32_t i = 0; i < l->depth; i++) {
        const int32_t w = nnacl_line_weight(l, channel, i);
        const int32_t least = w * (-128 - l->x_zero), most = w * (127 - l->x_zero);
        range.low += least < most ? least : most;
        range.high += least < most ? most : least;
        sum += (uint32_t)w;
    }
    *fixed = (int32_t)((uint32_t)bias - (uint32_t)l->x_zero * sum);
    return range;
}

/* Line of one channel with start so that the products with the raw input need only be added; false when there is none.
 * With shift 0: start, and multiplier and shift (or the float scale) of the exact requantization. */
static inline bool nnacl_line_of_channel(const nnacl_line_layer *l, int32_t channel, int32_t shift, nnacl_line *line) {
    int32_t fixed;
    const nnacl_line_range range = nnacl_line_accumulators(l, channel, &fixed);
    const int32_t *rows = (const int32_t *)l->requant;
    if (shift == 0) {
        line->start = fixed;
        line->multiplier = rows[channel];
        line->offset = l->rounding == NNACL_ROUND_FLOAT_EVEN ? 0 : rows[l->channels + channel];
        return true;
    }
    const nnacl_line_channel one = {l->requant, l->channels, channel, l->rounding, l->y_zero, l->q_min, l->q_max};
    const bool found = nnacl_line_fit(&one, range, shift, line);
    line->start = (int32_t)((uint32_t)line->start + (uint32_t)fixed);
    return found;
}

/* What packed weights begin with: a shift with which every channel has a line. When at least half of them have one with
 * some shift, that and NNACL_LINES_MIXED. Else 0. */
static inline int32_t nnacl_line_shift(const nnacl_line_layer *l) {
    static const int32_t shifts[] = NNACL_LINE_SHIFTS;
    int32_t best = 0, most = (l->channels - 1) / 2;
    for (int32_t i = 0; i < NNACL_LINE_SHIFT_COUNT; i++) {
        int32_t found = 0;
        for (int32_t channel = 0; channel < l->channels; channel++) {
            nnacl_line line = {0, 0, 0};
            found += nnacl_line_of_channel(l, channel, shifts[i], &line);
        }
        if (found == l->channels) {
            return shifts[i];
        }
        if (found > most) {
            most = found;
            best = shifts[i] | NNACL_LINES_MIXED;
        }
    }
    return best;
}

/* The lines of `count` channels that are finished together; channel -1 is none. `shift` is that of nnacl_line_shift().
 * If one of them has none in a layer that has some, all are exact and their multipliers say so. */
static inline void nnacl_lines_of_channels(const nnacl_line_layer *l, const int32_t *channels, int32_t count,
                                           int32_t shift, nnacl_line *lines) {
    const nnacl_line none = {0, 0, 0};
    bool found = true;
    for (int32_t i = 0; i < count; i++) {
        lines[i] = none;
        found &= channels[i] < 0 || nnacl_line_of_channel(l, channels[i], shift & NNACL_LINE_SHIFT, &lines[i]);
    }
    for (int32_t i = 0; !found && i < count; i++) {
        lines[i] = none;
        if (channels[i] >= 0) {
            nnacl_line_of_channel(l, channels[i], 0, &lines[i]);
        }
        lines[i].multiplier |= NNACL_LINE_EXACT;
    }
}

#endif
