/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a layer (requant_line.h) in a few bytes for each channel, for sums that are 256 times the accumulator:
 *
 *     y = saturate((((int64_t)(256 * sum + start) * multiplier >> 32) + offset) >> 12)
 *
 * With eight bits more in the sum the offset says the rounding of a channel exactly, and only depends on its shift. So
 * a channel is its bias, its shift and the leading bits of its multiplier, each in as many bits as its layer needs.
 * Packed weights with such lines begin with a word that says how many (below) and with their own size in bytes. */
#ifndef NNACL_COMPACT_LINES_H
#define NNACL_COMPACT_LINES_H

#include "common/finish_s8.h"

/* The right shift of a compact line, and what the multiplier is shifted by beyond the shift of its channel. */
#define NNACL_COMPACT_SHIFT 12
#define NNACL_COMPACT_LEFT 5

/* Accumulators are less than this. */
#define NNACL_COMPACT_LIMIT ((int64_t)1 << 23)

/* The fields of the first word. The lowest byte is NNACL_COMPACT_SHIFT. */
#define NNACL_COMPACT 0x200
#define NNACL_COMPACT_BIAS(word) ((int32_t)((word) >> 10 & 31))   /* bits of a bias, which is signed */
#define NNACL_COMPACT_SHIFTS(word) ((int32_t)((word) >> 15 & 15)) /* bits of a shift */
#define NNACL_COMPACT_BITS(word) ((int32_t)((word) >> 19 & 31))   /* bits of a multiplier behind the leading one */
#define NNACL_COMPACT_LEAST(word) ((int32_t)((word) >> 24 & 31))  /* the least right shift */
#define NNACL_COMPACT_FOLDED(word) ((word) >> 29 & 1)             /* biases have the zero point of x in them */
#define NNACL_COMPACT_SINGLE(word) ((word) >> 30 & 1)             /* rounded once */

/* How the offset follows from the right shift of a multiplier: half of a result, and half of what is rounded first. */
static inline int32_t nnacl_compact_offset(int32_t zero, int32_t right, bool single) {
    return (2 * zero + 1) * (1 << (NNACL_COMPACT_SHIFT - 1)) + (single || right > 6 ? 0 : 64 >> right);
}

/* What a far shift leaves of that half is less than 1 in the offset and goes into the start. `mantissa`: the multiplier
 * before its shift. */
static inline int32_t nnacl_compact_rest(uint32_t mantissa, int32_t right, bool single) {
    return single || right <= 6 ? 0 : (int32_t)(((uint32_t)1 << 31) / (mantissa >> 7));
}

/* The multiplier before its shift of which `field` is the `bits` bits behind the leading one. */
static inline uint32_t nnacl_compact_mantissa(uint32_t field, int32_t bits) {
    return ((uint32_t)1 << 30) | field << (30 - bits);
}

/* Reads the channels one by one. */
typedef struct nnacl_compact_reader {
    uint32_t head; /* the first word of the packed weights */
    int32_t zero;  /* of the results */
    const uint32_t *words;
    uint32_t at; /* the next bit */
} nnacl_compact_reader;

/* `channels` is where those of the layer begin; the reader begins at `channel`. */
nnacl_compact_reader nnacl_compact_at(uint32_t head, const void *channels, int32_t channel, int32_t zero);

/* A channel. `less` is its zero point of x times the sum of its weights. */
void nnacl_compact_next(nnacl_compact_reader *reader, int32_t less, int32_t *start, int32_t end[2]);

#endif
