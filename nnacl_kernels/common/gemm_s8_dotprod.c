/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__) /* which would mix the order so that sums have to be moved */
#pragma GCC optimize("no-schedule-insns", "no-shrink-wrap")
#endif
#include "common/gemm_s8_dotprod.h"

#define VECTORS 4

/* vdotq_laneq_s32(), for which gcc 12 copies some sums to another register and back. */
#define dot(sum, right, left, lane)                                                                                    \
    __asm__("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(*(sum)) : "w"(right), "w"(left))

/* Four steps of the depth: lane `lane` of the rows. */
NNACL_ALWAYS_INLINE const int8_t *quad(int32x4_t *sums, const int8x16_t *left, const int8_t *b, const int32_t rows,
                                       const int32_t vectors, const int32_t lane) {
    const int8x16x4_t right = vld1q_s8_x4(b);
#pragma GCC unroll 5
    for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            int32x4_t *sum = &sums[r * vectors + j];
            if (lane == 0) {
                dot(sum, right.val[j], left[r], 0);
            } else if (lane == 1) {
                dot(sum, right.val[j], left[r], 1);
            } else if (lane == 2) {
                dot(sum, right.val[j], left[r], 2);
            } else {
                dot(sum, right.val[j], left[r], 3);
            }
        }
    }
    b += 64;
    __asm__("" : "+r"(b)); /* so that the compiler counts up one pointer */
    return b;
}

/* 16 steps, of which the last `quads` times four have weights. */
NNACL_ALWAYS_INLINE const int8_t *chunk(int32x4_t *sums, const int8_t *const *a, ptrdiff_t at, const int8_t *b,
                                        const int32_t rows, const int32_t vectors, const int32_t quads) {
    int8x16_t left[NNACL_ROWS_DOTPROD];
#pragma GCC unroll 5
    for (int32_t r = 0; r < rows; r++) {
        left[r] = vld1q_s8(a[r] + at);
    }
#pragma GCC unroll 4
    for (int32_t lane = 4 - quads; lane < 4; lane++) {
        b = quad(sums, left, b, rows, vectors, lane);
    }
    return b;
}

/* `rows` rows from the walk on, stored from `y` on. */
NNACL_ALWAYS_INLINE void tile(const nnacl_arm_tile *t, nnacl_arm_walk *walk, int8_t *y, const int32_t rows,
                              const int32_t vectors) {
    int32x4_t sums[NNACL_ROWS_DOTPROD * VECTORS];
    const int8_t *a[NNACL_ROWS_DOTPROD], *b = t->panel + 4 * VECTORS * 4 * sizeof(int32_t);
    const int32_t *starts = (const int32_t *)(const void *)t->panel;
    const int32_t rest = t->run & (NNACL_ARM_CHUNK - 1), whole = t->run - rest;
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        const int32x4_t start = vld1q_s32(starts + 4 * j);
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
            sums[r * vectors + j] = start;
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
                b = chunk(sums, a, tap + k, b, rows, vectors, 4);
            }
            const ptrdiff_t last = tap + t->run - NNACL_ARM_CHUNK;
            if (rest > 12) {
                b = chunk(sums, a, last, b, rows, vectors, 4);
            } else if (rest > 8) {
                b = chunk(sums, a, last, b, rows, vectors, 3);
            } else if (rest > 4) {
                b = chunk(sums, a, last, b, rows, vectors, 2);
            } else if (rest > 0) {
                b = chunk(sums, a, last, b, rows, vectors, 1);
            }
            tap += t->tap_column_step;
        } while (--j > 0);
        tap_row += t->tap_row_step;
    } while (--i > 0);
    nnacl_tile_store_neon(t, sums, y, rows, vectors, 4 * VECTORS);
}

/* `vectors` of four columns of the panel are there. */
NNACL_ALWAYS_INLINE void all_rows(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count, const int32_t vectors) {
    int8_t *y = t->y;
    for (; count >= NNACL_ROWS_DOTPROD; count -= NNACL_ROWS_DOTPROD, y += NNACL_ROWS_DOTPROD * t->y_step) {
        tile(t, &walk, y, NNACL_ROWS_DOTPROD, vectors);
    }
    switch (count) {
    case 1:
        tile(t, &walk, y, 1, vectors);
        break;
    case 2:
        tile(t, &walk, y, 2, vectors);
        break;
    case 3:
        tile(t, &walk, y, 3, vectors);
        break;
    case 4:
        tile(t, &walk, y, 4, vectors);
        break;
    default:
        break;
    }
}

void nnacl_rows_s8_dotprod(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count) {
    if (t->columns <= 8) {
        all_rows(t, walk, count, 2);
    } else {
        all_rows(t, walk, count, VECTORS);
    }
}
