/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and writes compact lines (compact_lines.h). Portable: plan halves pack for any target. */
#ifndef NNACL_COMPACT_PACK_H
#define NNACL_COMPACT_PACK_H

#include <string.h>

#include "common/compact_lines.h"
#include "common/requant_line.h"

/* How far from the nearest multiplier one is looked for that needs few bits. */
#define NNACL_COMPACT_TRIES 64

/* Summing up the weights of a channel takes longer the more there are, and a wider bias weighs less: for each bit there
 * must be so many weights. */
#define NNACL_COMPACT_FOLD 32

/* Whether the channel, whose thresholds are `s`, gives its own results along the line. */
static inline bool nnacl_compact_is_exact(const nnacl_line_channel *c, const nnacl_line_steps *s,
                                          nnacl_line_range range, uint32_t mantissa, int32_t right) {
    const bool single = c->rounding == NNACL_ROUND_SINGLE;
    const int64_t multiplier = mantissa >> right;
    const int64_t rise = nnacl_compact_offset(c->zero, right, single) * ((int64_t)1 << 32) +
                         multiplier * nnacl_compact_rest(mantissa, right, single);
    int64_t least, limit;
    return multiplier > 0 &&
           nnacl_line_rises(c, s, (int32_t)range.low, (int32_t)range.high, NNACL_COMPACT_SHIFT, multiplier * 256,
                            &least, &limit) &&
           least <= rise && rise < limit;
}

/* The `bits` bits behind the leading one of a multiplier that serves the channel, or -1. */
static inline int64_t nnacl_compact_field(const nnacl_line_channel *c, const nnacl_line_steps *s,
                                          nnacl_line_range range, int32_t bits) {
    const int32_t *rows = (const int32_t *)c->requant;
    const int32_t right = -rows[c->channels + c->channel] - NNACL_COMPACT_LEFT;
    const int64_t rest = rows[c->channel] - ((int64_t)1 << 30), step = (int64_t)1 << (30 - bits);
    const int64_t nearest = (rest + step / 2) / step;
    for (int32_t i = 0; i <= 2 * NNACL_COMPACT_TRIES; i++) {
        const int64_t field = nearest + (i % 2 ? -(i + 1) / 2 : i / 2);
        if (field >= 0 && field < (int64_t)1 << bits &&
            nnacl_compact_is_exact(c, s, range, nnacl_compact_mantissa((uint32_t)field, bits), right)) {
            return field;
        }
    }
    return -1;
}

/* Bits of a signed number. */
static inline int32_t nnacl_compact_width(int32_t value) {
    int32_t width = 1;
    for (; width < 31 && (value < -(1 << (width - 1)) || value >= 1 << (width - 1)); width++) {
    }
    return width;
}

static inline nnacl_line_channel nnacl_compact_channel(const nnacl_line_layer *l, int32_t channel) {
    const nnacl_line_channel one = {l->requant, l->channels, channel, l->rounding, l->y_zero, l->q_min, l->q_max};
    return one;
}

/* The first word for a layer, or 0 when a channel has no compact line. `fold`: whether biases must have the zero point
 * of x in them; else they do when that takes hardly more bits. */
static inline uint32_t nnacl_compact_head(const nnacl_line_layer *l, bool fold) {
    if (l->rounding == NNACL_ROUND_FLOAT_EVEN || l->w_zero != 0) {
        return 0;
    }
    const int32_t *shifts = (const int32_t *)l->requant + l->channels;
    int32_t plain = 1, folded = 1, least = 31, most = 0, bits = 16;
    for (int32_t channel = 0; channel < l->channels; channel++) {
        int32_t fixed;
        const nnacl_line_range range = nnacl_line_accumulators(l, channel, &fixed);
        const int32_t right = -shifts[channel] - NNACL_COMPACT_LEFT;
        if (range.low <= -NNACL_COMPACT_LIMIT || range.high >= NNACL_COMPACT_LIMIT || right < 0 || right > 30 ||
            ((const int32_t *)l->requant)[channel] < 1 << 30) {
            return 0;
        }
        const int32_t bias = l->bias ? l->bias[channel] : 0;
        plain = nnacl_compact_width(bias) > plain ? nnacl_compact_width(bias) : plain;
        folded = nnacl_compact_width(fixed) > folded ? nnacl_compact_width(fixed) : folded;
        least = right < least ? right : least;
        most = right > most ? right : most;
        const nnacl_line_channel one = nnacl_compact_channel(l, channel);
        nnacl_line_steps steps;
        nnacl_line_find_steps(&one, (int32_t)range.low, (int32_t)range.high, &steps);
        while (nnacl_compact_field(&one, &steps, range, bits) < 0) {
            if (++bits > 30) {
                return 0;
            }
        }
    }
    int32_t spread = 0;
    while (most - least >= 1 << spread) {
        spread++;
    }
    const bool is_folded = fold || (folded - plain) * NNACL_COMPACT_FOLD <= l->depth;
    return (uint32_t)(NNACL_COMPACT_SHIFT | NNACL_COMPACT | (is_folded ? folded : plain) << 10 | spread << 15 |
                      bits << 19 | least << 24 | is_folded << 29 | (l->rounding == NNACL_ROUND_SINGLE) << 30);
}

typedef struct nnacl_compact_writer {
    char *to;
    uint64_t bits;
    int32_t count;
} nnacl_compact_writer;

static inline void nnacl_compact_put(nnacl_compact_writer *writer, uint32_t value, int32_t width) {
    writer->bits |= (uint64_t)(value & (uint32_t)(((uint64_t)1 << width) - 1)) << writer->count;
    writer->count += width;
    if (writer->count >= 32) {
        const uint32_t word = (uint32_t)writer->bits;
        memcpy(writer->to, &word, sizeof word);
        writer->to += sizeof word;
        writer->bits >>= 32;
        writer->count -= 32;
    }
}

/* One channel. With `bits` of the layer the search may find none that had one with fewer: then the leading bits of
 * that are meant, see nnacl_compact_head(). */
static inline void nnacl_compact_put_channel(const nnacl_line_layer *l, uint32_t head, int32_t channel,
                                             nnacl_compact_writer *writer) {
    int32_t fixed, bits = NNACL_COMPACT_BITS(head);
    const nnacl_line_range range = nnacl_line_accumulators(l, channel, &fixed);
    const int32_t right = -((const int32_t *)l->requant)[l->channels + channel] - NNACL_COMPACT_LEFT;
    const nnacl_line_channel one = nnacl_compact_channel(l, channel);
    nnacl_line_steps steps;
    nnacl_line_find_steps(&one, (int32_t)range.low, (int32_t)range.high, &steps);
    int64_t field = nnacl_compact_field(&one, &steps, range, bits);
    for (; field < 0 && bits > 16; field = nnacl_compact_field(&one, &steps, range, bits)) {
        bits--;
    }
    field = (field < 0 ? 0 : field) << (NNACL_COMPACT_BITS(head) - bits);
    const int32_t bias = l->bias ? l->bias[channel] : 0;
    nnacl_compact_put(writer, (uint32_t)(NNACL_COMPACT_FOLDED(head) ? fixed : bias), NNACL_COMPACT_BIAS(head));
    nnacl_compact_put(writer, (uint32_t)(right - NNACL_COMPACT_LEAST(head)), NNACL_COMPACT_SHIFTS(head));
    nnacl_compact_put(writer, (uint32_t)field, NNACL_COMPACT_BITS(head));
}

/* Fills up the last word and returns what follows it. */
static inline char *nnacl_compact_end(nnacl_compact_writer *writer) {
    if (writer->count > 0) {
        nnacl_compact_put(writer, 0, 32 - writer->count);
    }
    return writer->to;
}

#endif
