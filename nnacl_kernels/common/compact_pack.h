/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and writes compact lines (compact_lines.h). Portable: plan halves pack for any target. */
#ifndef NNACL_COMPACT_PACK_H
#define NNACL_COMPACT_PACK_H

#include <string.h>

#include "common/compact_lines.h"
#include "common/requant_line.h"

/* Summing up the weights of a channel takes longer the more there are, and a wider bias weighs less: for each bit there
 * must be so many weights. */
#define NNACL_COMPACT_FOLD 64

/* The mantissas, 2^30 .. 2^31 - 1, with which a channel gives its own results along its line. */
typedef struct nnacl_compact_span {
    uint32_t low, high;
} nnacl_compact_span;

/* Keeps of the multipliers low .. high those with which slope * multiplier >= least. */
static inline void nnacl_compact_narrow(int64_t slope, int64_t least, int64_t *low, int64_t *high) {
    if (slope > 0) {
        const int64_t bound = nnacl_line_divide_up(least, slope);
        *low = bound > *low ? bound : *low;
    } else if (slope < 0) {
        const int64_t bound = -nnacl_line_divide_up(least, -slope);
        *high = bound < *high ? bound : *high;
    } else if (least > 0) {
        *high = -1;
    }
}

/* The span of a channel whose mantissas are shifted by `right`, or false when it is empty. At each of its thresholds
 * and at both ends of its accumulators the line has to be on the right side; both are linear in the multiplier m, but
 * for what nnacl_compact_rest() leaves of a rise R = 2^(38 - right): m times that is above R - 256 - m and below
 * R + 255, because m is within 1 of mantissa / 2^right. */
static inline bool nnacl_compact_find_span(const nnacl_line_channel *c, nnacl_line_range range, int32_t right,
                                           nnacl_compact_span *span) {
    const bool single = c->rounding == NNACL_ROUND_SINGLE, has_rest = !single && right > 6;
    const int64_t unit = nnacl_line_unit(NNACL_COMPACT_SHIFT);
    const int64_t rise =
        nnacl_compact_offset(c->zero, right, single) * ((int64_t)1 << 32) + (has_rest ? (int64_t)1 << (38 - right) : 0);
    const int64_t below = has_rest ? 256 : 0, above = has_rest ? 255 : 0;
    nnacl_line_steps steps;
    nnacl_line_find_steps(c, (int32_t)range.low, (int32_t)range.high, &steps);
    int64_t low = 1, high = INT32_MAX >> right;
    for (int32_t i = 0; i <= steps.last - steps.first + 1; i++) {
        /* where the value is at least first + i, and where still less than that */
        const bool is_end = i > steps.last - steps.first;
        const int64_t at = i == 0 ? range.low : is_end ? range.high + 1 : steps.at[i - 1];
        const int64_t level = (steps.first + i) * unit - rise;
        if (i == 0 ? steps.first > c->q_min : !is_end) { /* at q_min and q_max the kernel clamps */
            nnacl_compact_narrow(256 * at - has_rest, level + below, &low, &high);
        }
        if (is_end ? steps.last < c->q_max : i > 0) {
            nnacl_compact_narrow(-256 * (at - 1), 1 + above - level, &low, &high);
        }
    }
    if (low > high) {
        return false;
    }
    const int64_t least = low << right, most = ((high + 1) << right) - 1, one = (int64_t)1 << 30;
    span->low = (uint32_t)(least > one ? least : one);
    span->high = (uint32_t)(most < 2 * one ? most : 2 * one - 1);
    return span->low <= span->high;
}

/* The bits of a mantissa in the span that has `bits` of them, or -1. */
static inline int64_t nnacl_compact_field(nnacl_compact_span span, int32_t bits, uint32_t grid) {
    const int32_t free = 30 - bits;
    const uint32_t origin = nnacl_compact_origin(grid, free), step = (uint32_t)1 << free;
    const uint32_t field = span.low > origin ? (span.low - origin + step - 1) >> free : 0;
    return field < (uint32_t)1 << bits && origin + field * step <= span.high ? (int64_t)field : -1;
}

static inline int32_t nnacl_compact_right(const nnacl_line_layer *l, int32_t channel) {
    return -((const int32_t *)l->requant)[l->channels + channel] - NNACL_COMPACT_LEFT;
}

/* The bias that a field holds. */
static inline int32_t nnacl_compact_bias(const nnacl_line_layer *l, int32_t channel, bool folded) {
    int32_t fixed;
    if (!folded) {
        return l->bias ? l->bias[channel] : 0;
    }
    nnacl_line_accumulators(l, channel, &fixed);
    return fixed;
}

static inline nnacl_compact_span nnacl_compact_span_at(const char *spans, int32_t channel) {
    nnacl_compact_span span;
    memcpy(&span, spans + (ptrdiff_t)channel * (ptrdiff_t)sizeof span, sizeof span);
    return span;
}

/* Writes the spans of all channels to `spans`; false when a channel has none. */
static inline bool nnacl_compact_find_spans(const nnacl_line_layer *l, char *spans) {
    if (l->rounding == NNACL_ROUND_FLOAT_EVEN || l->w_zero != 0) {
        return false;
    }
    for (int32_t channel = 0; channel < l->channels; channel++) {
        int32_t fixed;
        nnacl_compact_span span;
        const nnacl_line_range range = nnacl_line_accumulators(l, channel, &fixed);
        const nnacl_line_channel one = {l->requant, l->channels, channel, l->rounding, l->y_zero, l->q_min, l->q_max};
        const int32_t right = nnacl_compact_right(l, channel);
        if (range.low <= -NNACL_COMPACT_LIMIT || range.high >= NNACL_COMPACT_LIMIT || right < 0 || right > 30 ||
            !nnacl_compact_find_span(&one, range, right, &span)) {
            return false;
        }
        memcpy(spans + (ptrdiff_t)channel * (ptrdiff_t)sizeof span, &span, sizeof span);
    }
    return true;
}

/* How much further than the least one the shift of a channel is. */
static inline int32_t nnacl_compact_further(const nnacl_line_layer *l, uint32_t head, int32_t channel) {
    return nnacl_compact_right(l, channel) - NNACL_COMPACT_LEAST(head);
}

static inline int32_t nnacl_compact_slope(const nnacl_line_layer *l, uint32_t head, int32_t channel) {
    return NNACL_COMPACT_SLOPED(head) ? nnacl_compact_further(l, head, channel) : 0;
}

/* `head` with the fewest bits of biases that hold all, or 0. */
static inline uint32_t nnacl_compact_with_bias(const nnacl_line_layer *l, uint32_t head) {
    for (uint32_t bits = 0; bits < NNACL_COMPACT_WIDEST; bits++) {
        for (uint32_t centre = 0; centre < 16; centre++) {
            const uint32_t tried = head | bits << 4 | centre << 9;
            int32_t channel = 0;
            for (; channel < l->channels; channel++) {
                const int32_t own = (int32_t)bits + nnacl_compact_slope(l, head, channel);
                const int32_t least = nnacl_compact_least_bias(tried, own < NNACL_COMPACT_WIDEST ? own : 0);
                const int32_t bias = nnacl_compact_bias(l, channel, NNACL_COMPACT_FOLDED(head));
                if (own + NNACL_COMPACT_SHIFTS(head) > NNACL_COMPACT_WIDEST || bias < least ||
                    bias - least >= 1 << own) {
                    break;
                }
            }
            if (channel == l->channels) {
                return tried;
            }
        }
    }
    return 0;
}

/* The same with the fewest bits of multipliers with which all channels find one in their spans. */
static inline uint32_t nnacl_compact_with_bits(const nnacl_line_layer *l, uint32_t head, const char *spans) {
    for (uint32_t bits = NNACL_COMPACT_LEAST_BITS; bits <= NNACL_COMPACT_MOST_BITS; bits++) {
        for (uint32_t grid = 0; grid < NNACL_COMPACT_GRIDS; grid++) {
            int32_t channel = 0;
            for (; channel < l->channels; channel++) {
                const int32_t own = (int32_t)bits - nnacl_compact_slope(l, head, channel);
                if (own < 1 || nnacl_compact_field(nnacl_compact_span_at(spans, channel), own, grid) < 0) {
                    break;
                }
            }
            if (channel == l->channels) {
                return head | (bits - NNACL_COMPACT_LEAST_BITS) << 20 | grid << 24;
            }
        }
    }
    return 0;
}

/* The first word of a layer with such spans, or 0 when there is none. */
static inline uint32_t nnacl_compact_head(const nnacl_line_layer *l, const char *spans) {
    int32_t least = 31, most = 0;
    uint32_t shifts = 0, best = 0;
    for (int32_t channel = 0; channel < l->channels; channel++) {
        const int32_t right = nnacl_compact_right(l, channel);
        least = right < least ? right : least;
        most = right > most ? right : most;
    }
    while (most - least >= 1 << shifts) {
        shifts++;
    }
    const uint32_t start = NNACL_COMPACT_SHIFT | shifts << 13 | (uint32_t)least << 16 |
                           (uint32_t)(l->rounding == NNACL_ROUND_SINGLE) << 31;
    for (uint32_t sloped = 0; least < 16 && sloped < 2; sloped++) {
        const uint32_t plain = nnacl_compact_with_bias(l, start | sloped << 29);
        const uint32_t folded = nnacl_compact_with_bias(l, start | sloped << 29 | 1u << 30);
        const int32_t more = NNACL_COMPACT_BIAS(folded) - NNACL_COMPACT_BIAS(plain);
        const bool fold = !plain || (folded && more * NNACL_COMPACT_FOLD <= l->depth);
        const uint32_t with_bias = fold ? folded : plain;
        const uint32_t head = with_bias ? nnacl_compact_with_bits(l, with_bias, spans) : 0;
        if (head && (!best || nnacl_compact_width(head) < nnacl_compact_width(best))) {
            best = head;
        }
    }
    return best;
}

/* Writes the first word and the fields of all channels of a layer, and returns where they end, or NULL when a channel
 * has no compact line. `to` has room for 12 bytes for each channel and 4 beside. At least four bytes of weights have
 * to follow, which the last field may be read with. */
static inline char *nnacl_compact_pack(const nnacl_line_layer *l, char *to) {
    char *const spans = to + sizeof(uint32_t); /* a field takes less room than its span, and the span is read first */
    const uint32_t head = nnacl_compact_find_spans(l, spans) ? nnacl_compact_head(l, spans) : 0;
    if (!head) {
        return NULL;
    }
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    uint64_t bits = 0;
    int32_t count = 0;
    for (int32_t channel = 0; channel < l->channels; channel++) {
        const int32_t sloped = nnacl_compact_slope(l, head, channel);
        const int32_t bias_bits = NNACL_COMPACT_BIAS(head) + sloped, own = NNACL_COMPACT_BITS(head) - sloped;
        const int64_t mantissa =
            nnacl_compact_field(nnacl_compact_span_at(spans, channel), own, NNACL_COMPACT_GRID(head));
        const int32_t bias = nnacl_compact_bias(l, channel, NNACL_COMPACT_FOLDED(head));
        const int32_t widths[3] = {NNACL_COMPACT_SHIFTS(head), bias_bits, own};
        const uint32_t values[3] = {(uint32_t)nnacl_compact_further(l, head, channel),
                                    (uint32_t)(bias - nnacl_compact_least_bias(head, bias_bits)), (uint32_t)mantissa};
        for (int32_t i = 0; i < 3; i++) {
            bits |= (uint64_t)values[i] << count;
            count += widths[i];
            for (; count >= 32; count -= 32, bits >>= 32, to += sizeof(uint32_t)) {
                const uint32_t word = (uint32_t)bits;
                memcpy(to, &word, sizeof word);
            }
        }
    }
    if (count > 0) {
        const uint32_t word = (uint32_t)bits;
        memcpy(to, &word, sizeof word);
        to += sizeof word;
    }
    return to;
}

/* Writes how many bytes of packed weights with compact lines are read, those up to `end`, into the last word of the
 * `size` bytes that they might have taken. */
static inline void nnacl_compact_put_size(const char *end, char *packed, size_t size) {
    const uint32_t used = (uint32_t)(end - packed);
    memcpy(packed + size - sizeof used, &used, sizeof used);
}

#endif
