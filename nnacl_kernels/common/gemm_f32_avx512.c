/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"

#include <math.h>

/* What the sums become; a sum that goes on is not clamped. The operand order keeps a NaN. */
typedef struct tile_clamp {
    __m512 low, high;
} tile_clamp;

NNACL_ALWAYS_INLINE tile_clamp tile_clamp_of(const nnacl_tile *t) {
    return (tile_clamp){_mm512_set1_ps(t->ends ? t->clamp_min : -INFINITY),
                        _mm512_set1_ps(t->ends ? t->clamp_max : INFINITY)};
}

NNACL_ALWAYS_INLINE __m512 tile_clamped(tile_clamp clamp, __m512 sum) {
    return _mm512_min_ps(clamp.high, _mm512_max_ps(clamp.low, sum));
}

/* What was read of a tile is read anew behind this: gcc would keep it in the vector registers that sums need. */
NNACL_ALWAYS_INLINE void forget(void) {
    __asm__ volatile("" : : : "memory");
}

NNACL_ALWAYS_INLINE void tile_sums(const nnacl_tile *t, const int32_t rows, const int32_t panels) {
    const __mmask16 lanes = nnacl_lanes_avx512(t->columns - 16 * (panels - 1));
    __m512 sums[NNACL_TILE_ROWS][NNACL_TILE_PANELS];
    if (t->adds) {
        const float *y = t->y;
        const ptrdiff_t y_step = t->y_step;
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++, y += y_step) {
#pragma GCC unroll 3
            for (int32_t j = 0; j < panels; j++) {
                sums[r][j] = _mm512_maskz_loadu_ps(j + 1 < panels ? 0xffff : lanes, y + 16 * j);
            }
        }
    } else {
        const float *bias = t->bias;
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            const __mmask16 those = j + 1 < panels ? 0xffff : lanes;
            const __m512 start = bias ? _mm512_maskz_loadu_ps(those, bias + 16 * j) : _mm512_setzero_ps();
#pragma GCC unroll 8
            for (int32_t r = 0; r < rows; r++) {
                sums[r][j] = start;
            }
        }
    }
    const float *b = t->b;
    for (int32_t tap = 0; tap < t->taps; tap++) {
        forget();
        const float *a[NNACL_TILE_ROWS];
        const float *const *row = t->a + tap;
        const ptrdiff_t a_step = t->a_step, b_step = t->b_step, panel_step = t->panel_step;
#pragma GCC unroll 8
        for (int32_t r = 0; r < rows; r++, row += a_step) {
            a[r] = *row;
        }
        const int32_t run = t->run;
        for (int32_t i = 0; i < run; i++, b += b_step) {
            __m512 right[NNACL_TILE_PANELS];
#pragma GCC unroll 3
            for (int32_t j = 0; j < panels; j++) {
                right[j] = _mm512_loadu_ps(b + j * panel_step);
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
    forget();
    const tile_clamp clamp = tile_clamp_of(t);
    float *y = t->y;
    const ptrdiff_t y_step = t->y_step;
#pragma GCC unroll 8
    for (int32_t r = 0; r < rows; r++, y += y_step) {
#pragma GCC unroll 3
        for (int32_t j = 0; j < panels; j++) {
            const __m512 sum = tile_clamped(clamp, sums[r][j]);
            if (j + 1 < panels) {
                _mm512_storeu_ps(y + 16 * j, sum);
            } else {
                _mm512_mask_storeu_ps(y + 16 * j, lanes, sum);
            }
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
        _mm512_mask_storeu_ps(t->y + 16 * j, lanes, tile_clamped(tile_clamp_of(t), sum));
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
