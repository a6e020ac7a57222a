/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__) /* which would begin so many products at once that sums leave registers   \
                                              */
#pragma GCC optimize("no-schedule-insns", "no-shrink-wrap")
#endif
#include "common/gemm_s8_neon.h"

#define COLUMNS 8

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

/* `rows` rows from the walk on, stored from `y` on. */
NNACL_ALWAYS_INLINE void tile(const nnacl_arm_tile *t, nnacl_arm_walk *walk, int8_t *y, const int32_t rows,
                              const bool wide) {
    int32x4_t sums[NNACL_ROWS_NEON * COLUMNS], totals[NNACL_ROWS_NEON * 2];
    const int8_t *a[NNACL_ROWS_NEON], *b = t->panel + 4 * COLUMNS * sizeof(int32_t);
    const int32_t *starts = (const int32_t *)(const void *)t->panel;
    const int32_t rest = t->run % NNACL_ARM_CHUNK, whole = t->run - rest;
#pragma GCC unroll 16
    for (int32_t i = 0; i < rows * COLUMNS; i++) {
        sums[i] = vdupq_n_s32(0);
    }
#pragma GCC unroll 2
    for (int32_t r = 0; r < rows; r++) {
        a[r] = nnacl_arm_walk_on(walk);
    }
    for (int32_t i = 0; i < t->tap_rows; i++) {
        for (int32_t j = 0; j < t->tap_columns; j++) {
            const ptrdiff_t tap = i * t->tap_row_step + j * t->tap_column_step;
            for (int32_t k = 0; k < whole; k += NNACL_ARM_CHUNK) {
                b = chunk(sums, a, tap + k, b, rows, false, wide);
            }
            const ptrdiff_t last = tap + t->run - NNACL_ARM_CHUNK;
            if (rest > 8) {
                b = chunk(sums, a, last, b, rows, false, wide);
            } else if (rest > 0) {
                b = chunk(sums, a, last, b, rows, true, wide);
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t i = 0; i < rows * 2; i++) {
        const int32x4_t *four = sums + 4 * i;
        const int32x4_t total = vpaddq_s32(vpaddq_s32(four[0], four[1]), vpaddq_s32(four[2], four[3]));
        totals[i] = vaddq_s32(total, vld1q_s32(starts + i % 2 * 4));
    }
    nnacl_tile_store_neon(t, totals, y, rows, 2, COLUMNS);
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
    if (t->flags & NNACL_ARM_WIDE) {
        all_rows(t, walk, count, true);
    } else {
        all_rows(t, walk, count, false);
    }
}
