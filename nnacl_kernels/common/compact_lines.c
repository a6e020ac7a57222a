/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compact_lines.h"

#include <string.h>

nnacl_compact_reader nnacl_compact_at(uint32_t head, const void *fields, int32_t channel, int32_t zero) {
    const nnacl_compact_reader reader = {head, zero, fields, (uint32_t)channel * (uint32_t)nnacl_compact_width(head)};
    return reader;
}

/* At least NNACL_COMPACT_WIDEST bits, of those up to 32 that follow. */
static inline uint32_t bits_at(const uint8_t *fields, uint32_t at) {
    uint32_t word;
    memcpy(&word, fields + at / 8, sizeof word);
    return word >> at % 8;
}

void nnacl_compact_next(nnacl_compact_reader *reader, int32_t less, int32_t *start, int32_t end[2]) {
    const uint32_t head = reader->head;
    const int32_t shifts = NNACL_COMPACT_SHIFTS(head);
    const uint32_t first = bits_at(reader->fields, reader->at), further = first & ~(UINT32_MAX << shifts);
    const int32_t right = NNACL_COMPACT_LEAST(head) + (int32_t)further;
    const int32_t sloped = NNACL_COMPACT_SLOPED(head) ? (int32_t)further : 0;
    const int32_t bias_bits = NNACL_COMPACT_BIAS(head) + sloped, bits = NNACL_COMPACT_BITS(head) - sloped;
    const uint32_t place = reader->at + (uint32_t)(shifts + bias_bits);
    const uint32_t second = bits_at(reader->fields, place) | (uint32_t)reader->fields[place / 8 + 4]
                                                                 << 1 << (31 - place % 8);
    reader->at += (uint32_t)nnacl_compact_width(head);

    const uint32_t mantissa = nnacl_compact_origin(NNACL_COMPACT_GRID(head), 30 - bits) + (second << (32 - bits) >> 2);
    const int32_t bias =
        (int32_t)(first >> shifts & ~(UINT32_MAX << bias_bits)) + nnacl_compact_least_bias(head, bias_bits);
    const bool single = NNACL_COMPACT_SINGLE(head);
    *start = (int32_t)((uint32_t)(NNACL_COMPACT_FOLDED(head) ? bias : bias - less) << 8) +
             nnacl_compact_rest(mantissa, right, single);
    end[0] = (int32_t)(mantissa >> right);
    end[1] = nnacl_compact_offset(reader->zero, right, single);
}
