/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compact_lines.h"

nnacl_compact_reader nnacl_compact_at(uint32_t head, const void *channels, int32_t channel, int32_t zero) {
    const int32_t width = NNACL_COMPACT_BIAS(head) + NNACL_COMPACT_SHIFTS(head) + NNACL_COMPACT_BITS(head);
    const nnacl_compact_reader reader = {head, zero, channels, (uint32_t)channel * (uint32_t)width};
    return reader;
}

/* The next `width` bits, at most 31. */
static inline uint32_t take(nnacl_compact_reader *reader, int32_t width) {
    const uint32_t *word = reader->words + reader->at / 32, shift = reader->at % 32;
    uint32_t value = word[0] >> shift;
    if (shift + (uint32_t)width > 32) {
        value |= word[1] << (32 - shift);
    }
    reader->at += (uint32_t)width;
    return value & (((uint32_t)1 << width) - 1);
}

void nnacl_compact_next(nnacl_compact_reader *reader, int32_t less, int32_t *start, int32_t end[2]) {
    const uint32_t head = reader->head;
    const int32_t free = 32 - NNACL_COMPACT_BIAS(head), bits = NNACL_COMPACT_BITS(head);
    const int32_t bias = (int32_t)(take(reader, NNACL_COMPACT_BIAS(head)) << free) >> free;
    const int32_t right = NNACL_COMPACT_LEAST(head) + (int32_t)take(reader, NNACL_COMPACT_SHIFTS(head));
    const uint32_t mantissa = nnacl_compact_mantissa(take(reader, bits), bits);
    *start = (int32_t)((uint32_t)(NNACL_COMPACT_FOLDED(head) ? bias : bias - less) << 8) +
             nnacl_compact_rest(mantissa, right, NNACL_COMPACT_SINGLE(head));
    end[0] = (int32_t)(mantissa >> right);
    end[1] = nnacl_compact_offset(reader->zero, right, NNACL_COMPACT_SINGLE(head));
}
