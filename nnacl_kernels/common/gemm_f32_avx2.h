/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the float32 convolution, dense and matmul of AVX2 are made of: up to 6 rows by 16 columns. */
#ifndef NNACL_GEMM_F32_AVX2_H
#define NNACL_GEMM_F32_AVX2_H

#include "common/lanes_avx2.h"

#define NNACL_TILE_ROWS 6
#define NNACL_TILE_COLUMNS 16

/* What the tiles of one call share. Row r of a begins at a[r]; row i of the panel at panel + i * panel_step and has 16
 * columns; row r of y at y + r * y_step and has `columns` <= 16. `bias` has `columns` entries or is NULL. */
typedef struct nnacl_tile {
    const float *a[NNACL_TILE_ROWS];
    int32_t depth;
    const float *panel;
    ptrdiff_t panel_step;
    const float *bias;
    float *y;
    ptrdiff_t y_step;
    int32_t columns;
    float clamp_min, clamp_max;
} nnacl_tile;

static inline void nnacl_tile_store(const nnacl_tile *t, int32_t row, __m256 left, __m256 right) {
    const __m256 low = _mm256_set1_ps(t->clamp_min), high = _mm256_set1_ps(t->clamp_max);
    float *y = t->y + row * t->y_step;
    /* the operand order keeps a NaN */
    nnacl_store_avx2(y, _mm256_min_ps(high, _mm256_max_ps(low, left)), t->columns);
    if (t->columns > 8) {
        nnacl_store_avx2(y + 8, _mm256_min_ps(high, _mm256_max_ps(low, right)), t->columns - 8);
    }
}

NNACL_ALWAYS_INLINE void nnacl_tile_rows(const nnacl_tile *t, const int32_t rows) {
    __m256 left[NNACL_TILE_ROWS], right[NNACL_TILE_ROWS];
    const __m256 bias_left = t->bias ? nnacl_load_avx2(t->bias, t->columns) : _mm256_setzero_ps();
    const __m256 bias_right =
        t->bias && t->columns > 8 ? nnacl_load_avx2(t->bias + 8, t->columns - 8) : _mm256_setzero_ps();
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        left[r] = bias_left;
        right[r] = bias_right;
    }
    const float *b = t->panel;
    for (int32_t i = 0; i < t->depth; i++, b += t->panel_step) {
        const __m256 b_left = _mm256_loadu_ps(b), b_right = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
        for (int32_t r = 0; r < rows; r++) {
            const __m256 factor = _mm256_broadcast_ss(t->a[r] + i);
            left[r] = _mm256_fmadd_ps(factor, b_left, left[r]);
            right[r] = _mm256_fmadd_ps(factor, b_right, right[r]);
        }
    }
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        nnacl_tile_store(t, r, left[r], right[r]);
    }
}

/* y = clamp(a x panel + bias) for a product that has one row in all: four steps of the depth at a time, because two
 * chains of additions would wait for each other. The order of a sum may not depend on how work is split, so the last
 * row of many is not done like this. */
static inline void nnacl_tile_run_vector(const nnacl_tile *t) {
    __m256 left[4], right[4];
    for (int32_t s = 0; s < 4; s++) {
        left[s] = right[s] = _mm256_setzero_ps();
    }
    const float *a = t->a[0], *b = t->panel;
    int32_t i = 0;
    for (; i + 4 <= t->depth; i += 4) {
#pragma GCC unroll 4
        for (int32_t s = 0; s < 4; s++, b += t->panel_step) {
            const __m256 factor = _mm256_broadcast_ss(a + i + s);
            left[s] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b), left[s]);
            right[s] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b + 8), right[s]);
        }
    }
    for (; i < t->depth; i++, b += t->panel_step) {
        const __m256 factor = _mm256_broadcast_ss(a + i);
        left[0] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b), left[0]);
        right[0] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b + 8), right[0]);
    }
    __m256 sum_left = _mm256_add_ps(_mm256_add_ps(left[0], left[1]), _mm256_add_ps(left[2], left[3]));
    __m256 sum_right = _mm256_add_ps(_mm256_add_ps(right[0], right[1]), _mm256_add_ps(right[2], right[3]));
    if (t->bias) {
        sum_left = _mm256_add_ps(sum_left, nnacl_load_avx2(t->bias, t->columns));
        if (t->columns > 8) {
            sum_right = _mm256_add_ps(sum_right, nnacl_load_avx2(t->bias + 8, t->columns - 8));
        }
    }
    nnacl_tile_store(t, 0, sum_left, sum_right);
}

/* y = clamp(a x panel + bias) for 1 .. 6 rows. */
static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    switch (rows) {
    case 1:
        nnacl_tile_rows(t, 1);
        break;
    case 2:
        nnacl_tile_rows(t, 2);
        break;
    case 3:
        nnacl_tile_rows(t, 3);
        break;
    case 4:
        nnacl_tile_rows(t, 4);
        break;
    case 5:
        nnacl_tile_rows(t, 5);
        break;
    default:
        nnacl_tile_rows(t, 6);
        break;
    }
}

#endif
