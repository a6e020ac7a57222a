/* SPDX-License-Identifier: Apache-2.0 */
/* What the tiles of gemm_s8_neon.h and gemm_s8_dotprod.h share: rows of a matrix that need not lie in
 * memory (they may be windows of an image) by one panel of panels_arm.h. */
#ifndef NNACL_TILE_S8_NEON_H
#define NNACL_TILE_S8_NEON_H

#include "common/requant_neon.h"

#define NNACL_TILE_MOST_ROWS 8
#define NNACL_TILE_MOST_COLUMNS 16

/* Where the rows begin: `columns` of them `advance` bytes from each other, and `turn` more to the next of another line.
 */
typedef struct nnacl_arm_walk {
    const int8_t *at;
    int32_t column, columns;
    ptrdiff_t advance, turn;
} nnacl_arm_walk;

/* Tap (i, j) of a row is the run i * tap_row_step + j * tap_column_step bytes behind its begin. Before a run that is
 * shorter than 16 up to 15 bytes are read. */
typedef struct nnacl_arm_tile {
    int32_t tap_rows, tap_columns;
    ptrdiff_t tap_row_step, tap_column_step;
    int32_t run;
    const int8_t *panel;
    int32_t flags; /* as packed */
    int32_t zero, q_min, q_max;
    int8_t *y;
    ptrdiff_t y_step;
    int32_t columns; /* of the panel, as far as there are any */
} nnacl_arm_tile;

/* y = requant(a x b + bias) for `count` rows and the columns of a panel. */
typedef void (*nnacl_arm_rows_fn)(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count);

NNACL_ALWAYS_INLINE const int8_t *nnacl_arm_walk_on(nnacl_arm_walk *w) {
    const int8_t *here = w->at;
    w->at += w->advance;
    if (++w->column == w->columns) {
        w->column = 0;
        w->at += w->turn;
    }
    return here;
}

/* The next `rows` rows. */
NNACL_ALWAYS_INLINE void nnacl_arm_walk_rows(nnacl_arm_walk *w, const int8_t **a, const int32_t rows) {
    if (w->columns - w->column > rows) {
        a[0] = w->at;
#pragma GCC unroll 8
        for (int32_t r = 1; r < rows; r++) {
            a[r] = a[r - 1] + w->advance;
        }
        w->at = a[rows - 1] + w->advance;
        w->column += rows;
        return;
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        a[r] = nnacl_arm_walk_on(w);
    }
}

/* One row of sums, `vectors` of four, as bytes. */
NNACL_ALWAYS_INLINE int8x16_t nnacl_tile_row_neon(const int32x4_t *sums, const nnacl_requant_four *r, int16x8_t zero,
                                                  const int32_t vectors, const int32_t mode) {
    const int16x8_t low = nnacl_requant_words_neon(nnacl_requant_neon(sums[0], r[0], mode),
                                                   nnacl_requant_neon(sums[1], r[1], mode), zero);
    if (vectors == 2) {
        return vcombine_s8(vqmovn_s16(low), vdup_n_s8(0));
    }
    const int16x8_t high = nnacl_requant_words_neon(nnacl_requant_neon(sums[2], r[2], mode),
                                                    nnacl_requant_neon(sums[3], r[3], mode), zero);
    return vqmovn_high_s16(vqmovn_s16(low), high);
}

NNACL_ALWAYS_INLINE void nnacl_tile_rows_neon(const nnacl_arm_tile *t, const int32x4_t *sums, int8_t *y,
                                              const int32_t rows, const int32_t vectors, const int32_t width,
                                              const int32_t mode) {
    const int32_t *multipliers = (const int32_t *)(const void *)t->panel + width;
    const int16x8_t zero = vdupq_n_s16((int16_t)t->zero);
    const int8x16_t low = vdupq_n_s8((int8_t)t->q_min), high = vdupq_n_s8((int8_t)t->q_max);
    const ptrdiff_t y_step = t->y_step;
    nnacl_requant_four requant[4];
    int8x16_t bytes[NNACL_TILE_MOST_ROWS];
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        requant[j] = nnacl_requant_load_neon(multipliers + 4 * j, width, mode);
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        const int8x16_t row = nnacl_tile_row_neon(sums + r * vectors, requant, zero, vectors, mode);
        bytes[r] = vminq_s8(vmaxq_s8(row, low), high);
    }
    if (t->columns == 4 * vectors) {
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            nnacl_store_16_neon(y + r * y_step, bytes[r], 4 * vectors);
        }
        return;
    }
    const int32_t columns = t->columns;
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++) {
        nnacl_store_16_neon(y + r * y_step, bytes[r], columns);
    }
}

/* The contracts whose code is long: in a loop. */
static __attribute__((noinline)) void nnacl_tile_loop_neon(const nnacl_arm_tile *t, const int32x4_t *sums, int8_t *y,
                                                           int32_t rows, int32_t vectors, int32_t width) {
    const bool single = (t->flags & NNACL_ARM_MODE) == NNACL_ARM_SINGLE;
    const int32_t *multipliers = (const int32_t *)(const void *)t->panel + width;
    const int16x8_t zero = vdupq_n_s16((int16_t)t->zero);
    const int8x8_t low = vdup_n_s8((int8_t)t->q_min), high = vdup_n_s8((int8_t)t->q_max);
    for (int32_t j = 0; j < vectors; j++) {
        const nnacl_requant_four requant = nnacl_requant_load_neon(multipliers + 4 * j, width, NNACL_ARM_DOUBLE);
        const int32_t left = t->columns - 4 * j;
        for (int32_t r = 0; r < rows && left > 0; r++) {
            const int32x4_t sum = sums[r * vectors + j];
            const int32x4_t scaled = single ? nnacl_requant_neon(sum, requant, NNACL_ARM_SINGLE)
                                            : nnacl_requant_neon(sum, requant, NNACL_ARM_DOUBLE);
            const int8x8_t bytes = vqmovn_s16(nnacl_requant_words_neon(scaled, scaled, zero));
            nnacl_store_8_neon(y + r * t->y_step + 4 * j, vmin_s8(vmax_s8(bytes, low), high), left < 4 ? left : 4);
        }
    }
}

/* Requantizes rows of sums and stores them from `y` on. `vectors` of four columns of a panel of `width` are there. */
NNACL_ALWAYS_INLINE void nnacl_tile_store_neon(const nnacl_arm_tile *t, const int32x4_t *sums, int8_t *y,
                                               const int32_t rows, const int32_t vectors, const int32_t width) {
    const int32_t mode = t->flags & NNACL_ARM_MODE;
    if (NNACL_ROUNDS(NNACL_ROUND_TFLITE_UP, NNACL_ROUND_TFLITE_UP) && mode == NNACL_ARM_UP) {
        nnacl_tile_rows_neon(t, sums, y, rows, vectors, width, NNACL_ARM_UP);
    } else if (NNACL_ROUNDS(NNACL_ROUND_FLOAT_EVEN, NNACL_ROUND_FLOAT_EVEN) && mode == NNACL_ARM_SCALE) {
        nnacl_tile_rows_neon(t, sums, y, rows, vectors, width, NNACL_ARM_SCALE);
    } else {
        int32x4_t all[NNACL_TILE_MOST_ROWS * 4];
#pragma GCC unroll 20
        for (int32_t i = 0; i < rows * vectors; i++) {
            all[i] = sums[i];
        }
        nnacl_tile_loop_neon(t, all, y, rows, vectors, width);
    }
}

#endif
