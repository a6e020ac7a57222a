/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__GNUC__) && !defined(__clang__) /* which would mix the order so that sums have to be moved */
#pragma GCC optimize("no-schedule-insns", "no-shrink-wrap")
#endif
#include "common/gemm_f32_neon.h"
#include "common/lanes_neon.h"

#define VECTORS 4

/* vfmaq_laneq_f32() */
#define multiply(sum, right, left, lane)                                                                               \
    __asm__("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(*(sum)) : "w"(right), "w"(left))

/* One step of the depth, by lane `lane` of the rows. */
NNACL_ALWAYS_INLINE const float *step(float32x4_t *sums, const float32x4_t *left, const float *b, ptrdiff_t b_step,
                                      const int32_t rows, const int32_t vectors, const int32_t lane) {
    float32x4_t right[VECTORS];
    if (vectors == VECTORS) {
        const float32x4x4_t four = vld1q_f32_x4(b);
        right[0] = four.val[0];
        right[1] = four.val[1];
        right[2] = four.val[2];
        right[3] = four.val[3];
    } else {
        right[0] = vld1q_f32(b);
        right[1] = vld1q_f32(b + 4);
    }
#pragma GCC unroll 5
    for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            float32x4_t *sum = &sums[r * vectors + j];
            if (lane == 0) {
                multiply(sum, right[j], left[r], 0);
            } else if (lane == 1) {
                multiply(sum, right[j], left[r], 1);
            } else if (lane == 2) {
                multiply(sum, right[j], left[r], 2);
            } else {
                multiply(sum, right[j], left[r], 3);
            }
        }
    }
    b += b_step;
    __asm__("" : "+r"(b)); /* so that the compiler counts up one pointer */
    return b;
}

/* All steps of a run. */
NNACL_ALWAYS_INLINE const float *run(const nnacl_tile *t, float32x4_t *sums, const float *const *a, const float *b,
                                     ptrdiff_t b_step, const int32_t rows, const int32_t vectors) {
    float32x4_t left[NNACL_TILE_ROWS];
    int32_t i = 0;
    for (; i + 4 <= t->run; i += 4) {
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
            left[r] = vld1q_f32(a[r] + i);
        }
        b = step(sums, left, b, b_step, rows, vectors, 0);
        b = step(sums, left, b, b_step, rows, vectors, 1);
        b = step(sums, left, b, b_step, rows, vectors, 2);
        b = step(sums, left, b, b_step, rows, vectors, 3);
    }
    for (; i < t->run; i++) {
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
            left[r] = vdupq_n_f32(a[r][i]);
        }
        b = step(sums, left, b, b_step, rows, vectors, 0);
    }
    return b;
}

/* `vectors` of the columns of a row, clamped at the end; minimum and maximum keep a NaN. */
NNACL_ALWAYS_INLINE void store_row(const nnacl_tile *t, float *y, const float32x4_t *sums, const int32_t vectors) {
    const float32x4_t low = vdupq_n_f32(t->clamp_min), high = vdupq_n_f32(t->clamp_max);
    float32x4_t row[VECTORS];
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        row[j] = t->ends ? vminq_f32(vmaxq_f32(sums[j], low), high) : sums[j];
    }
    if (t->columns == 4 * vectors) {
#pragma GCC unroll 4
        for (int32_t j = 0; j < vectors; j++) {
            vst1q_f32(y + 4 * j, row[j]);
        }
        return;
    }
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        nnacl_store_neon(y + 4 * j, t->columns - 4 * j, row[j]);
    }
}

NNACL_ALWAYS_INLINE void tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t vectors) {
    float32x4_t sums[NNACL_TILE_ROWS * VECTORS];
    const float *a[NNACL_TILE_ROWS], *b = t->b;
    const ptrdiff_t b_step = t->b_step;
#pragma GCC unroll 4
    for (int32_t j = 0; j < vectors; j++) {
        const float32x4_t none = vdupq_n_f32(0.0f);
        const int32_t left = t->columns - 4 * j;
        const float32x4_t start = t->bias ? nnacl_load_or_neon(t->bias + 4 * j, left, none) : none;
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
            sums[r * vectors + j] = start;
        }
    }
    if (t->adds) {
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
            for (int32_t j = 0; j < vectors; j++) {
                sums[r * vectors + j] =
                    nnacl_load_or_neon(t->y + r * t->y_step + 4 * j, t->columns - 4 * j, sums[r * vectors + j]);
            }
        }
    }
    int32_t tap = 0;
    do { /* there are taps, which a `for` would ask again */
#pragma GCC unroll 5
        for (int32_t r = 0; r < rows; r++) {
            a[r] = t->a[r * t->a_step + tap];
        }
        b = b_step == NNACL_PANEL_F32 ? run(t, sums, a, b, NNACL_PANEL_F32, rows, vectors)
                                      : run(t, sums, a, b, b_step, rows, vectors);
    } while (++tap < t->taps);
#pragma GCC unroll 5
    for (int32_t r = 0; r < rows; r++) {
        store_row(t, t->y + r * t->y_step, sums + r * vectors, vectors);
    }
}

NNACL_ALWAYS_INLINE void rows_of(const nnacl_tile *t, int32_t rows, const int32_t vectors) {
    switch (rows) {
    case 1:
        tile_sums(t, 1, vectors);
        break;
    case 2:
        tile_sums(t, 2, vectors);
        break;
    case 3:
        tile_sums(t, 3, vectors);
        break;
    case 4:
        tile_sums(t, 4, vectors);
        break;
    default:
        tile_sums(t, 5, vectors);
        break;
    }
}

void nnacl_tile_run_f32_neon(const nnacl_tile *t, int32_t rows) {
    if (t->columns <= 8) {
        rows_of(t, rows, 2);
    } else {
        rows_of(t, rows, VECTORS);
    }
}

/* A single row of one tap: odd steps of the depth have sums of their own, because few chains of additions wait for each
 * other. */
void nnacl_tile_run_vector_f32_neon(const nnacl_tile *t) {
    float32x4_t sums[2 * VECTORS], left;
    const float *a = t->a[0], *b = t->b;
    const ptrdiff_t b_step = t->b_step;
#pragma GCC unroll 8
    for (int32_t j = 0; j < 2 * VECTORS; j++) {
        sums[j] = vdupq_n_f32(0.0f);
    }
    int32_t i = 0;
    for (; i + 4 <= t->run; i += 4) {
        left = vld1q_f32(a + i);
        b = step(sums, &left, b, b_step, 1, VECTORS, 0);
        b = step(sums + VECTORS, &left, b, b_step, 1, VECTORS, 1);
        b = step(sums, &left, b, b_step, 1, VECTORS, 2);
        b = step(sums + VECTORS, &left, b, b_step, 1, VECTORS, 3);
    }
    for (; i < t->run; i++) {
        left = vdupq_n_f32(a[i]);
        b = step(sums, &left, b, b_step, 1, VECTORS, 0);
    }
    const float32x4_t none = vdupq_n_f32(0.0f);
#pragma GCC unroll 4
    for (int32_t j = 0; j < VECTORS; j++) {
        const float32x4_t start = t->bias ? nnacl_load_or_neon(t->bias + 4 * j, t->columns - 4 * j, none) : none;
        sums[j] = vaddq_f32(vaddq_f32(sums[j], sums[VECTORS + j]), start);
    }
    store_row(t, t->y, sums, VECTORS);
}
