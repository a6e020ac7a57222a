/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a matrix of s8 for common/rows_s16_dsp.h. Portable: the plan half packs for any target. */
#ifndef NNACL_ROWS_S16_PACK_H
#define NNACL_ROWS_S16_PACK_H

#include <stddef.h>
#include <stdint.h>

static inline size_t nnacl_rows_s16_size(int32_t rows, int32_t depth) {
    return ((size_t)rows + 3) / 4 * 4 * (size_t)depth;
}

/* Groups of four rows, missing ones 0. For each whole four of the depth a word of each row, its bytes in the order 0,
 * 2, 1, 3: bytes 0 and 2, and 1 and 3, widened to 16 bits, meet neighbours of the vector. For each element of the rest
 * a byte of each row. */
static inline void nnacl_pack_rows_s16(const int8_t *w, int32_t rows, int32_t depth, int8_t *packed) {
    static const int8_t order[4] = {0, 2, 1, 3};
    for (int32_t first = 0; first < rows; first += 4) {
        for (int32_t k = 0; k < depth; k += 4) {
            const int32_t count = depth - k < 4 ? depth - k : 4;
            for (int32_t i = 0; i < 4 * count; i++) {
                const int32_t row = first + (count == 4 ? i / 4 : i % 4);
                const int32_t element = k + (count == 4 ? order[i % 4] : i / 4);
                *packed++ = row < rows ? w[(ptrdiff_t)row * depth + element] : (int8_t)0;
            }
        }
    }
}

#endif
