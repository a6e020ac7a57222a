/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compact_lines.h"

nnacl_compact_reader nnacl_compact_at(uint32_t head, const void *channels, int32_t channel, int32_t zero) {
    const int32_t width = NNACL_COMPACT_BIAS(head) + NNACL_COMPACT_SHIFTS(head) + NNACL_COMPACT_BITS(head);
    const uint32_t skipped = (uint32_t)channel * (uint32_t)width;
    nnacl_compact_reader reader = {head, zero, (const uint32_t *)channels + skipped / 32, 0, 0};
    if (skipped % 32) {
        reader.bits = *reader.words++ >> skipped % 32;
        reader.count = 32 - (int32_t)(skipped % 32);
    }
    return reader;
}

/* The next `width` bits, at most 31. */
static uint32_t take(nnacl_compact_reader *reader, int32_t width) {
    if (reader->count < width) {
        reader->bits |= (uint64_t)*reader->words++ << reader->count;
        reader->count += 32;
    }
    const uint32_t value = (uint32_t)reader->bits & (((uint32_t)1 << width) - 1);
    reader->bits >>= width;
    reader->count -= width;
    return value;
}

void nnacl_compact_next(nnacl_compact_reader *reader, int32_t less, int32_t *start, int32_t end[2]) {
    const uint32_t head = reader->head;
    const int32_t free = 32 - NNACL_COMPACT_BIAS(head), bits = NNACL_COMPACT_BITS(head);
    const int32_t bias = (int32_t)(take(reader, NNACL_COMPACT_BIAS(head)) << free) >> free;
    const int32_t right = NNACL_COMPACT_LEAST(head) + (int32_t)take(reader, NNACL_COMPACT_SHIFTS(head));
    *start = (int32_t)((uint32_t)(NNACL_COMPACT_FOLDED(head) ? bias : bias - less) << 8);
    end[0] = nnacl_compact_multiplier(take(reader, bits), bits, right);
    end[1] = nnacl_compact_offset(reader->zero, right, NNACL_COMPACT_SINGLE(head));
}
