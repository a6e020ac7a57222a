/* SPDX-License-Identifier: Apache-2.0 */
/* The words of eight rows of packed weights at a time, and how the work is split. */
#ifndef NNACL_PACKED_WORDS_AVX2_H
#define NNACL_PACKED_WORDS_AVX2_H

#include <immintrin.h>

#include "common/share.h"
#include "quant/packed_columns.h"

typedef struct nnacl_packed_rows8 {
    const uint8_t *first; /* of the first row */
    __m256i offsets;      /* of the rows behind it, in bytes; a missing row repeats the last */
    int32_t bytes[8];     /* the same */
} nnacl_packed_rows8;

/* `count` (1 .. 8) rows. */
static inline nnacl_packed_rows8 nnacl_packed_rows_avx2(const uint8_t *first, int32_t stride, int32_t count) {
    nnacl_packed_rows8 rows = {.first = first};
    for (int32_t i = 0; i < 8; i++) {
        rows.bytes[i] = (i < count ? i : count - 1) * stride;
    }
    rows.offsets = _mm256_loadu_si256((const __m256i *)(const void *)rows.bytes);
    return rows;
}

/* Four bytes of each row from `at` on, or fewer: what lies behind `stride` is not read. */
static inline __m256i nnacl_packed_word_avx2(const nnacl_packed_rows8 *rows, int32_t at, int32_t stride) {
    if (stride - at >= 4) {
        return _mm256_i32gather_epi32((const int *)(const void *)(rows->first + at), rows->offsets, 1);
    }
    uint32_t words[8] = {0};
    for (int32_t i = 0; i < 8; i++) {
        memcpy(&words[i], rows->first + rows->bytes[i] + at, (size_t)(stride - at));
    }
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

/* Groups of positions and of eight channels that belong to this part of the work. */
typedef struct nnacl_packed_split {
    nnacl_range blocks, panels;
} nnacl_packed_split;

static inline nnacl_packed_split nnacl_packed_split_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p) {
    const int32_t positions = p->batch * p->out_h * p->out_w;
    const int32_t blocks = (positions + NNACL_PACKED_POSITIONS - 1) / NNACL_PACKED_POSITIONS;
    nnacl_packed_split split = {{0, blocks}, {0, (p->out_c + 7) / 8}};
    if (nnacl_packed_by_positions(positions)) {
        split.blocks = nnacl_share(ctx, blocks);
    } else {
        split.panels = nnacl_share(ctx, split.panels.end);
    }
    return split;
}

#endif
