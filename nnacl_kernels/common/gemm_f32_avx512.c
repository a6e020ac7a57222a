/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"

static inline void tile_store(const nnacl_tile *t, float *y, __mmask16 lanes, __m512 sum) {
    if (t->ends) { /* the operand order keeps a NaN */
        sum = _mm512_min_ps(_mm512_set1_ps(t->clamp_max), _mm512_max_ps(_mm512_set1_ps(t->clamp_min), sum));
    }
    _mm512_mask_storeu_ps(y, lanes, sum);
}

NNACL_ALWAYS_INLINE void tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t panels) {
    __m512 sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS];
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __mmask16 lanes = nnacl_lanes_avx512(t->columns - 16 * j);
        const __m512 start = t->bias ? _mm512_maskz_loadu_ps(lanes, t->bias + 16 * j) : _mm512_setzero_ps();
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            sums[r][j] = t->adds ? _mm512_maskz_loadu_ps(lanes, t->y + r * t->y_step + 16 * j) : start;
        }
    }
    const float *b = t->b;
    for (int32_t tap = 0; tap < t->taps; tap++) {
        const float *a[NNACL_TILE_ROWS];
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            a[r] = t->a[r * t->a_step + tap];
        }
        for (int32_t i = 0; i < t->run; i++, b += t->b_step) {
            __m512 right[NNACL_TILE_PANELS];
#pragma GCC unroll 3
            for (int32_t j = 0; j < panels; j++) {
                right[j] = _mm512_loadu_ps(b + j * t->panel_step);
            }
#pragma GCC unroll 8
            for (int32_t r = 0; r < rows; r++) {
                const __m512 left = _mm512_set1_ps(a[r][i]);
#pragma GCC unroll 3
                for (int32_t j = 0; j < panels; j++) {
                    sums[r][j] = _mm512_fmadd_ps(left, right[j], sums[r][j]);
                }
            }
        }
    }
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __mmask16 lanes = nnacl_lanes_avx512(t->columns - 16 * j);
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++) {
            tile_store(t, t->y + r * t->y_step + 16 * j, lanes, sums[r][j]);
        }
    }
}

/* A single row of one tap: four steps of the depth at a time, because few chains of additions wait for each other. */
NNACL_ALWAYS_INLINE void tile_vector(const nnacl_tile *t, const int32_t panels) {
    __m512 sums[4][NNACL_TILE_PANELS];
    const float *a = t->a[0], *b = t->b;
#pragma GCC unroll 4
    for (int32_t s = 0; s < 4; s++) {
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            sums[s][j] = _mm512_setzero_ps();
        }
    }
    int32_t i = 0;
    for (; i + 4 <= t->run; i += 4, b += 4 * t->b_step) {
#pragma GCC unroll 4
        for (int32_t s = 0; s < 4; s++) {
            const __m512 left = _mm512_set1_ps(a[i + s]);
#pragma GCC unroll 3
            for (int32_t j = 0; j < panels; j++) {
                const __m512 right = _mm512_loadu_ps(b + s * t->b_step + j * t->panel_step);
                sums[s][j] = _mm512_fmadd_ps(left, right, sums[s][j]);
            }
        }
    }
    for (; i < t->run; i++, b += t->b_step) {
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            sums[0][j] = _mm512_fmadd_ps(_mm512_set1_ps(a[i]), _mm512_loadu_ps(b + j * t->panel_step), sums[0][j]);
        }
    }
#pragma GCC unroll 3
    for (int32_t j = 0; j < panels; j++) {
        const __mmask16 lanes = nnacl_lanes_avx512(t->columns - 16 * j);
        __m512 sum = _mm512_add_ps(_mm512_add_ps(sums[0][j], sums[1][j]), _mm512_add_ps(sums[2][j], sums[3][j]));
        if (t->bias) {
            sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, t->bias + 16 * j));
        }
        tile_store(t, t->y + 16 * j, lanes, sum);
    }
}

#include "common/tile_sizes_avx512.h"

void nnacl_tile_run_f32_avx512(const nnacl_tile *t, int32_t rows) {
    const int32_t first = rows == 3 || rows == 5 ? rows - 1 : rows;
    tile_of_size(t, first);
    if (first < rows) {
        const nnacl_tile rest = tile_rest(t, first);
        tile_of_size(&rest, 1);
    }
}

void nnacl_tile_run_vector_f32_avx512(const nnacl_tile *t) {
    if (t->columns <= 16) {
        tile_vector(t, 1);
    } else if (t->columns <= 32) {
        tile_vector(t, 2);
    } else {
        tile_vector(t, 3);
    }
}
