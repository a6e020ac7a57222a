/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_bytes_avx2.h"

#include "common/lanes_avx2.h"
#include "quant/packed_bytes_tiles.h"

#define ROWS 6
#define CHAINS 4

static inline __m256 columns_of(const float *from, __m256i lanes) {
    return from ? _mm256_maskload_ps(from, lanes) : _mm256_setzero_ps();
}

static inline void store(const nnacl_tile *t, int32_t row, int32_t column, __m256i lanes, __m256 sum) {
    const __m256 low = _mm256_set1_ps(t->clamp_min), high = _mm256_set1_ps(t->clamp_max);
    const __m256 value = _mm256_min_ps(high, _mm256_max_ps(low, sum)); /* NaN stays */
    _mm256_maskstore_ps(t->y + row * t->y_step + column, lanes, value);
}

/* One panel. */
NNACL_ALWAYS_INLINE void multiply(const nnacl_tile *t, const int32_t rows) {
    const __m256i lanes = nnacl_lanes_avx2(t->columns), more = nnacl_lanes_avx2(t->columns - 8);
    __m256 left[ROWS], right[ROWS];
#pragma GCC unroll 6
    for (int32_t r = 0; r < rows; r++) {
        left[r] = columns_of(t->bias, lanes);
        right[r] = columns_of(t->bias ? t->bias + 8 : NULL, more);
    }
    const float *b = t->b;
    for (int32_t i = 0; i < t->run; i++, b += NNACL_PANEL_F32) {
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
        store(t, r, 0, lanes, left[r]);
        store(t, r, 8, more, right[r]);
    }
}

/* Rows past a multiple of three are computed one by one. */
static void run(const nnacl_tile *t, int32_t rows) {
    if (rows == ROWS) {
        multiply(t, ROWS);
        return;
    }
    nnacl_tile rest = *t;
    int32_t done = 0;
    if (rows >= 3) {
        multiply(t, 3);
        done = 3;
    }
    for (; done < rows; done++) {
        rest.a = t->a + done;
        rest.y = t->y + done * t->y_step;
        multiply(&rest, 1);
    }
}

/* Four sums for each column, because two chains of additions would wait for each other. */
static void run_vector(const nnacl_tile *t) {
    const float *a = t->a[0];
    for (int32_t column = 0; column < t->columns; column += 8) {
        const __m256i lanes = nnacl_lanes_avx2(t->columns - column);
        const float *b = t->b + column;
        __m256 sums[CHAINS];
        for (int32_t s = 0; s < CHAINS; s++) {
            sums[s] = _mm256_setzero_ps();
        }
        int32_t i = 0;
        for (; i + CHAINS <= t->run; i += CHAINS) {
#pragma GCC unroll 4
            for (int32_t s = 0; s < CHAINS; s++, b += NNACL_PANEL_F32) {
                sums[s] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i + s), _mm256_loadu_ps(b), sums[s]);
            }
        }
        for (; i < t->run; i++, b += NNACL_PANEL_F32) {
            sums[0] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i), _mm256_loadu_ps(b), sums[0]);
        }
        const __m256 sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
        store(t, 0, column, lanes, _mm256_add_ps(sum, columns_of(t->bias ? t->bias + column : NULL, lanes)));
    }
}

static const nnacl_tile_method tiles = {ROWS, 1, run, run_vector};

void nnacl_packed_bytes_avx2(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    nnacl_packed_bytes(ctx, p, in, y, &tiles);
}
