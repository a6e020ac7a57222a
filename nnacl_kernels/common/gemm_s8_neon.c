/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__) /* which would begin so many products at once that sums leave registers   \
                                              */
#pragma GCC optimize("no-schedule-insns", "no-shrink-wrap")
#endif
#include "common/gemm_s8_neon.h"

#define COLUMNS 8
/* Elements of a row whose weights of eight columns stay in registers, as words. */
#define FEW 8

#define add_product(sums, w, x, lane)                                                                                  \
    do {                                                                                                               \
        (sums)[0] = vmlal_laneq_s16((sums)[0], vget_low_s16(w), x, lane);                                              \
        (sums)[1] = vmlal_high_laneq_s16((sums)[1], w, x, lane);                                                       \
    } while (0)

/* 16 steps of the depth. `upper`: the first eight have no weights; `wide`: a pair of products may be too much for 16
 * bits. */
NNACL_ALWAYS_INLINE int32x4_t step(int32x4_t sum, int8x16_t left, int8x16_t right, const bool upper, const bool wide) {
    if (upper) {
        return vpadalq_s16(sum, vmull_high_s8(left, right));
    }
    const int16x8_t low = vmull_s8(vget_low_s8(left), vget_low_s8(right));
    if (wide) {
        return vpadalq_s16(vpadalq_s16(sum, low), vmull_high_s8(left, right));
    }
    return vpadalq_s16(sum, vmlal_high_s8(low, left, right));
}

NNACL_ALWAYS_INLINE const int8_t *chunk(int32x4_t *sums, const int8_t *const *a, ptrdiff_t at, const int8_t *b,
                                        const int32_t rows, const bool upper, const bool wide) {
    int8x16_t left[NNACL_ROWS_NEON];
#pragma GCC unroll 2
    for (int32_t r = 0; r < rows; r++) {
        left[r] = vld1q_s8(a[r] + at);
    }
#pragma GCC unroll 2
    for (int32_t c = 0; c < COLUMNS; c += 4) {
        const int8x16x4_t right = vld1q_s8_x4(b);
        b += 64;
        __asm__("" : "+r"(b)); /* so that the compiler counts up one pointer */
#pragma GCC unroll 4
        for (int32_t j = 0; j < 4; j++) {
#pragma GCC unroll 2
            for (int32_t r = 0; r < rows; r++) {
                int32x4_t *sum = &sums[r * COLUMNS + c + j];
                *sum = step(*sum, left[r], right.val[j], upper, wide);
            }
        }
    }
    return b;
}

/* The four sums of each output are added, and where it starts. */
NNACL_ALWAYS_INLINE void add_up(int32x4_t *totals, const int32x4_t *sums, const int32_t *starts, const int32_t rows) {
#pragma GCC unroll 4
    for (int32_t i = 0; i < rows * 2; i++) {
        const int32x4_t *four = sums + 4 * i;
        const int32x4_t total = vpaddq_s32(vpaddq_s32(four[0], four[1]), vpaddq_s32(four[2], four[3]));
        totals[i] = vaddq_s32(total, vld1q_s32(starts + i % 2 * 4));
    }
}

/* `rows` rows from the walk on, stored from `y` on. */
NNACL_ALWAYS_INLINE void tile(const nnacl_arm_tile *t, nnacl_arm_walk *walk, int8_t *y, const int32_t rows,
                              const bool wide) {
    int32x4_t sums[NNACL_ROWS_NEON * COLUMNS], totals[NNACL_ROWS_NEON * 2];
    const int8_t *a[NNACL_ROWS_NEON], *b = t->panel + 4 * COLUMNS * sizeof(int32_t);
    const int32_t *starts = (const int32_t *)(const void *)t->panel;
    const int32_t rest = t->run & (NNACL_ARM_CHUNK - 1), whole = t->run - rest;
#pragma GCC unroll 16
    for (int32_t i = 0; i < rows * COLUMNS; i++) {
        sums[i] = vdupq_n_s32(0);
    }
    nnacl_arm_walk_rows(walk, a, rows);
    int32_t i = t->tap_rows;
    ptrdiff_t tap_row = 0;
    do { /* there are taps, which a `for` would ask again */
        int32_t j = t->tap_columns;
        ptrdiff_t tap = tap_row;
        do {
            for (int32_t k = 0; k < whole; k += NNACL_ARM_CHUNK) {
                b = chunk(sums, a, tap + k, b, rows, false, wide);
            }
            const ptrdiff_t last = tap + t->run - NNACL_ARM_CHUNK;
            if (rest > 8) {
                b = chunk(sums, a, last, b, rows, false, wide);
            } else if (rest > 0) {
                b = chunk(sums, a, last, b, rows, true, wide);
            }
            tap += t->tap_column_step;
        } while (--j > 0);
        tap_row += t->tap_row_step;
    } while (--i > 0);
    add_up(totals, sums, starts, rows);
    nnacl_tile_store_neon(t, totals, y, rows, 2, COLUMNS);
}

/* One row by two panels. */
NNACL_ALWAYS_INLINE void row_of_two(const nnacl_arm_tile *t, const int8_t *a, const bool wide) {
    const size_t size = nnacl_arm_panel_size(t->tap_rows * t->tap_columns, t->run, NNACL_LAYOUT_NEON);
    int32x4_t sums[2 * COLUMNS], totals[4];
    const int8_t *b = t->panel + 4 * COLUMNS * sizeof(int32_t), *b2 = b + size;
    const int32_t rest = t->run & (NNACL_ARM_CHUNK - 1), whole = t->run - rest;
#pragma GCC unroll 16
    for (int32_t i = 0; i < 2 * COLUMNS; i++) {
        sums[i] = vdupq_n_s32(0);
    }
    int32_t k = 0;
    for (; k < whole; k += NNACL_ARM_CHUNK) {
        b = chunk(sums, &a, k, b, 1, false, wide);
        b2 = chunk(sums + COLUMNS, &a, k, b2, 1, false, wide);
    }
    if (rest > 8) {
        chunk(sums, &a, t->run - NNACL_ARM_CHUNK, b, 1, false, wide);
        chunk(sums + COLUMNS, &a, t->run - NNACL_ARM_CHUNK, b2, 1, false, wide);
    } else if (rest > 0) {
        chunk(sums, &a, t->run - NNACL_ARM_CHUNK, b, 1, true, wide);
        chunk(sums + COLUMNS, &a, t->run - NNACL_ARM_CHUNK, b2, 1, true, wide);
    }
    nnacl_arm_tile half = *t;
    half.columns = COLUMNS;
    add_up(totals, sums, (const int32_t *)(const void *)t->panel, 1);
    nnacl_tile_store_neon(&half, totals, t->y, 1, 2, COLUMNS);
    half.columns = t->columns - COLUMNS;
    half.panel = t->panel + size;
    add_up(totals, sums + COLUMNS, (const int32_t *)(const void *)half.panel, 1);
    nnacl_tile_store_neon(&half, totals, t->y + COLUMNS, 1, 2, COLUMNS);
}

/* `rows` rows of at most eight elements, by the words of a panel in registers. */
NNACL_ALWAYS_INLINE void few_tile(const nnacl_arm_tile *t, nnacl_arm_walk *walk, const int16x8_t *w, int8_t *y,
                                  const int32_t rows) {
    const int32_t *starts = (const int32_t *)(const void *)t->panel;
    const int32x4_t low = vld1q_s32(starts), high = vld1q_s32(starts + 4);
    const int8_t *a[NNACL_ROWS_NEON];
    int32x4_t sums[NNACL_ROWS_NEON * 2];
    nnacl_arm_walk_rows(walk, a, rows);
#pragma GCC unroll 2
    for (int32_t r = 0; r < rows; r++) {
        const int16x8_t x = vmovl_s8(vld1_s8(a[r] + t->run - FEW));
        int32x4_t *two = &sums[2 * r];
        two[0] = vmlal_laneq_s16(low, vget_low_s16(w[0]), x, 0);
        two[1] = vmlal_high_laneq_s16(high, w[0], x, 0);
        add_product(two, w[1], x, 1);
        add_product(two, w[2], x, 2);
        add_product(two, w[3], x, 3);
        add_product(two, w[4], x, 4);
        add_product(two, w[5], x, 5);
        add_product(two, w[6], x, 6);
        add_product(two, w[7], x, 7);
    }
    nnacl_tile_store_neon(t, sums, y, rows, 2, COLUMNS);
}

/* Where a row has one run of at most eight elements, adding up neighbours would take longer than the products. */
static void few(const nnacl_arm_tile *given, nnacl_arm_walk walk, int32_t count) {
    const nnacl_arm_tile t = *given; /* what is written cannot lie there */
    const int8_t *b = t.panel + 4 * COLUMNS * sizeof(int32_t);
    int16_t words[FEW][COLUMNS];
    for (int32_t c = 0; c < COLUMNS; c++) {
        for (int32_t k = 0; k < FEW; k++) {
            words[k][c] = b[NNACL_ARM_CHUNK * c + NNACL_ARM_CHUNK - FEW + k];
        }
    }
    int16x8_t w[FEW];
#pragma GCC unroll 8
    for (int32_t k = 0; k < FEW; k++) {
        w[k] = vld1q_s16(words[k]);
    }
    int8_t *y = t.y;
    for (; count >= 2; count -= 2, y += 2 * t.y_step) {
        few_tile(&t, &walk, w, y, 2);
    }
    if (count > 0) {
        few_tile(&t, &walk, w, y, 1);
    }
}

NNACL_ALWAYS_INLINE void all_rows(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count, const bool wide) {
    int8_t *y = t->y;
    for (; count >= 2; count -= 2, y += 2 * t->y_step) {
        tile(t, &walk, y, 2, wide);
    }
    if (count > 0) {
        tile(t, &walk, y, 1, wide);
    }
}

void nnacl_rows_s8_neon(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count) {
    if (t->columns > COLUMNS) {
        if (t->flags & NNACL_ARM_WIDE) {
            row_of_two(t, walk.at, true);
        } else {
            row_of_two(t, walk.at, false);
        }
    } else if (t->run <= FEW && t->tap_rows * t->tap_columns == 1 && count > 4) {
        few(t, walk, count);
    } else if (t->flags & NNACL_ARM_WIDE) {
        all_rows(t, walk, count, true);
    } else {
        all_rows(t, walk, count, false);
    }
}
