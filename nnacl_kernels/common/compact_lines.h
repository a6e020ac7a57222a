/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a layer (requant_line.h) in a few bytes for each channel, for sums that are 256 times the accumulator:
 *
 *     y = saturate((((int64_t)(256 * sum + start) * multiplier >> 32) + offset) >> 12)
 *
 * With eight bits more in the sum the offset says the rounding of a channel exactly, and only depends on its shift. So
 * a channel is a field of bits: from the lowest one on its shift, its bias, the leading bits of its multiplier. All
 * fields of a layer are equally wide. Packed weights with such lines begin with a word that says how they are divided
 * (below); the fields follow, filled up to whole words. */
#ifndef NNACL_COMPACT_LINES_H
#define NNACL_COMPACT_LINES_H

#include "common/finish_s8.h"

/* What the multiplier is shifted by beyond the shift of its channel. */
#define NNACL_COMPACT_LEFT 5

/* Accumulators are less than this. */
#define NNACL_COMPACT_LIMIT ((int64_t)1 << 23)

/* Bits of shift and bias together at most, since a word holds them wherever in a byte they begin; and those of a
 * multiplier, which the byte behind the word completes. */
#define NNACL_COMPACT_WIDEST 25
#define NNACL_COMPACT_LEAST_BITS 15
#define NNACL_COMPACT_MOST_BITS 30

/* The parts of the first word. The lowest four bits are NNACL_COMPACT_SHIFT. */
#define NNACL_COMPACT_BIAS(word) ((int32_t)((word) >> 4 & 31))   /* bits of a bias */
#define NNACL_COMPACT_CENTRE(word) ((int32_t)((word) >> 9 & 15)) /* 16ths of their range that are below 0 */
#define NNACL_COMPACT_SHIFTS(word) ((int32_t)((word) >> 13 & 7)) /* bits of a shift */
#define NNACL_COMPACT_LEAST(word) ((int32_t)((word) >> 16 & 15)) /* the least right shift */
#define NNACL_COMPACT_BITS(word)                                                                                       \
    ((int32_t)((word) >> 20 & 15) + NNACL_COMPACT_LEAST_BITS) /* bits of a multiplier behind the leading one */
/* What all multipliers have behind those, in NNACL_COMPACT_GRIDS parts of the last of them. */
#define NNACL_COMPACT_GRID(word) ((word) >> 24 & 31)
#define NNACL_COMPACT_GRID_BITS 5
#define NNACL_COMPACT_GRIDS (1 << NNACL_COMPACT_GRID_BITS)
/* For each further right shift a bias has a bit more, and a multiplier one less. */
#define NNACL_COMPACT_SLOPED(word) ((word) >> 29 & 1)
#define NNACL_COMPACT_FOLDED(word) ((word) >> 30 & 1) /* biases have the zero point of x in them */
#define NNACL_COMPACT_SINGLE(word) ((word) >> 31)     /* rounded once */

static inline int32_t nnacl_compact_width(uint32_t head) {
    return NNACL_COMPACT_SHIFTS(head) + NNACL_COMPACT_BIAS(head) + NNACL_COMPACT_BITS(head);
}

/* Words that the fields of a layer take. */
static inline int32_t nnacl_compact_words(uint32_t head, int32_t channels) {
    return (channels * nnacl_compact_width(head) + 31) / 32;
}

/* The bias that is 0 in a field with `bits` of it. */
static inline int32_t nnacl_compact_least_bias(uint32_t head, int32_t bits) {
    return -(NNACL_COMPACT_CENTRE(head) << bits >> 4);
}

/* How the offset follows from the right shift of a multiplier: half of a result, and half of what is rounded first. */
static inline int32_t nnacl_compact_offset(int32_t zero, int32_t right, bool single) {
    return (2 * zero + 1) * (1 << (NNACL_COMPACT_SHIFT - 1)) + (single || right > 6 ? 0 : 64 >> right);
}

/* What a far shift leaves of that half is less than 1 in the offset and goes into the start. `mantissa`: the multiplier
 * before its shift. */
static inline int32_t nnacl_compact_rest(uint32_t mantissa, int32_t right, bool single) {
    return single || right <= 6 ? 0 : (int32_t)(((uint32_t)1 << 31) / (mantissa >> 7));
}

/* The least mantissa whose last bits are free, 30 less its bits. */
static inline uint32_t nnacl_compact_origin(uint32_t grid, int32_t free) {
    return ((uint32_t)1 << 30) | grid << free >> NNACL_COMPACT_GRID_BITS;
}

/* Reads the channels one by one. */
typedef struct nnacl_compact_reader {
    uint32_t head; /* the first word of the packed weights */
    int32_t zero;  /* of the results */
    const uint8_t *fields;
    uint32_t at; /* the next bit */
} nnacl_compact_reader;

/* The fields of a layer begin at `fields`, and the reader at `channel`. Up to four bytes behind the last field are
 * read. */
nnacl_compact_reader nnacl_compact_at(uint32_t head, const void *fields, int32_t channel, int32_t zero);

/* A channel. `less` is its zero point of x times the sum of its weights. */
void nnacl_compact_next(nnacl_compact_reader *reader, int32_t less, int32_t *start, int32_t end[2]);

#endif
