/* SPDX-License-Identifier: Apache-2.0 */
/* A product is of two rows and two columns, eight steps of the depth; its sums are (row, column) 00, 01, 10, 11. */
#if defined(__GNUC__) && !defined(__clang__) /* which would mix the order so that sums have to be moved */
#pragma GCC optimize("no-schedule-insns", "no-shrink-wrap")
#endif
#include "common/gemm_s8_i8mm.h"

#define VECTORS 4
#define WIDTH (4 * VECTORS)
#define DEEP 8
#define MOST_PAIRS (NNACL_ROWS_I8MM / 2)

/* vmmlaq_s32(), for which gcc 12 copies some sums to another register and back. */
#define multiply(sum, left, right) __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(*(sum)) : "w"(left), "w"(right))

/* Eight steps. `left`: of each pair of rows; `vectors` of four columns. */
NNACL_ALWAYS_INLINE const int8_t *eight(int32x4_t *sums, const int8x16_t *left, const int8_t *b, const int32_t pairs,
                                        const int32_t vectors) {
#pragma GCC unroll 2
    for (int32_t half = 0; half < vectors / 2; half++) {
        const int8x16x4_t right = vld1q_s8_x4(b);
#pragma GCC unroll 4
        for (int32_t j = 0; j < 4; j++) {
#pragma GCC unroll 2
            for (int32_t pair = 0; pair < pairs; pair++) {
                multiply(&sums[pair * 2 * vectors + half * 4 + j], left[pair], right.val[j]);
            }
        }
        b += 64;
        __asm__("" : "+r"(b)); /* so that the compiler counts up one pointer */
    }
    return vectors == VECTORS ? b : b + 64;
}

/* 16 steps, of which with `upper` only the last eight have weights. A row without a partner is its own. */
NNACL_ALWAYS_INLINE const int8_t *chunk(int32x4_t *sums, const int8_t *const *a, ptrdiff_t at, const int8_t *b,
                                        const int32_t rows, const int32_t vectors, const bool upper) {
    const int32_t pairs = (rows + 1) / 2;
    int8x16_t first[MOST_PAIRS], second[MOST_PAIRS];
#pragma GCC unroll 2
    for (int32_t pair = 0; pair < pairs; pair++) {
        const int64x2_t even = vreinterpretq_s64_s8(vld1q_s8(a[2 * pair] + at));
        const int64x2_t odd = 2 * pair + 1 < rows ? vreinterpretq_s64_s8(vld1q_s8(a[2 * pair + 1] + at)) : even;
        first[pair] = vreinterpretq_s8_s64(vzip1q_s64(even, odd));
        second[pair] = vreinterpretq_s8_s64(vzip2q_s64(even, odd));
    }
    if (!upper) {
        b = eight(sums, first, b, pairs, vectors);
    }
    return eight(sums, second, b, pairs, vectors);
}

/* `rows` rows from the walk on, stored from `y` on. */
NNACL_ALWAYS_INLINE void tile(const nnacl_arm_tile *t, nnacl_arm_walk *walk, int8_t *y, const int32_t rows,
                              const int32_t vectors) {
    const int32_t pairs = (rows + 1) / 2;
    int32x4_t sums[MOST_PAIRS * 2 * VECTORS], ordered[NNACL_ROWS_I8MM * VECTORS];
    const int8_t *a[NNACL_ROWS_I8MM], *b = t->panel + 4 * WIDTH * sizeof(int32_t);
    const int32_t *starts = (const int32_t *)(const void *)t->panel;
    const int32_t rest = t->run & (NNACL_ARM_CHUNK - 1), whole = t->run - rest;
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        const int64x2_t start = vreinterpretq_s64_s32(vld1q_s32(starts + 4 * j));
#pragma GCC unroll 2
        for (int32_t pair = 0; pair < pairs; pair++) {
            int32x4_t *two = &sums[pair * 2 * vectors + 2 * j];
            two[0] = vreinterpretq_s32_s64(vzip1q_s64(start, start));
            two[1] = vreinterpretq_s32_s64(vzip2q_s64(start, start));
        }
    }
    nnacl_arm_walk_rows(walk, a, rows);
    int32_t i = t->tap_rows;
    ptrdiff_t tap_row = 0;
    do { /* there are taps, which a `for` would ask again */
        int32_t j = t->tap_columns;
        ptrdiff_t tap = tap_row;
        do {
            for (int32_t k = 0; k < whole; k += NNACL_ARM_CHUNK) {
                b = chunk(sums, a, tap + k, b, rows, vectors, false);
            }
            const ptrdiff_t last = tap + t->run - NNACL_ARM_CHUNK;
            if (rest > DEEP) {
                b = chunk(sums, a, last, b, rows, vectors, false);
            } else if (rest > 0) {
                b = chunk(sums, a, last, b, rows, vectors, true);
            }
            tap += t->tap_column_step;
        } while (--j > 0);
        tap_row += t->tap_row_step;
    } while (--i > 0);
#pragma GCC unroll 4
    for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            const int32x4_t *two = &sums[r / 2 * 2 * vectors + 2 * j];
            const int64x2_t left = vreinterpretq_s64_s32(two[0]), right = vreinterpretq_s64_s32(two[1]);
            const int64x2_t four = r % 2 == 0 ? vzip1q_s64(left, right) : vzip2q_s64(left, right);
            ordered[r * vectors + j] = vreinterpretq_s32_s64(four);
        }
    }
    nnacl_tile_store_neon(t, ordered, y, rows, vectors, WIDTH);
}

/* `vectors` of four columns of the panel are there. */
NNACL_ALWAYS_INLINE void all_rows(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count, const int32_t vectors) {
    int8_t *y = t->y;
    for (; count >= NNACL_ROWS_I8MM; count -= NNACL_ROWS_I8MM, y += NNACL_ROWS_I8MM * t->y_step) {
        tile(t, &walk, y, NNACL_ROWS_I8MM, vectors);
    }
    if (count == 1) {
        tile(t, &walk, y, 1, vectors);
    } else if (count == 2) {
        tile(t, &walk, y, 2, vectors);
    } else if (count == 3) {
        tile(t, &walk, y, 3, vectors);
    }
}

void nnacl_rows_s8_i8mm(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count) {
    if (t->columns <= 8) {
        all_rows(t, walk, count, 2);
    } else {
        all_rows(t, walk, count, VECTORS);
    }
}
