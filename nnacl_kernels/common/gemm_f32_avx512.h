/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the float32 convolution, dense and matmul of AVX-512 are made of: up to 8 rows by three panels of 16
 * columns, 24 sums in registers. */
#ifndef NNACL_GEMM_F32_AVX512_H
#define NNACL_GEMM_F32_AVX512_H

#include <immintrin.h>

#include "nnacl_base.h"

#define NNACL_ALWAYS_INLINE static inline __attribute__((always_inline))
#define NNACL_TILE_ROWS 8
#define NNACL_TILE_PANELS 3

/* Row r of a has its taps at a[r * a_step] ..., `run` floats at each. Row i of panel j of b begins at
 * b + j * panel_step + i * b_step; the columns of y are `columns` <= 48. */
typedef struct nnacl_tile {
    const float *const *a;
    int32_t a_step, taps, run;
    const float *b;
    ptrdiff_t b_step, panel_step;
    const float *bias; /* `columns` entries, or NULL */
    float *y;
    ptrdiff_t y_step;
    int32_t columns;
    bool adds, ends; /* y holds the sum of taps before; no taps follow */
    float clamp_min, clamp_max;
} nnacl_tile;

static inline __mmask16 nnacl_lanes_avx512(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << (count > 0 ? count : 0)) - 1u);
}

/* y = clamp(a x b + bias) for 1 .. 8 rows. */
void nnacl_tile_run_f32_avx512(const nnacl_tile *t, int32_t rows);

/* The same for a product that has one row in all: the order of its sum may not depend on how work is split. */
void nnacl_tile_run_vector_f32_avx512(const nnacl_tile *t);

/* How many of `left` panels come next: 4 are two and two. */
static inline int32_t nnacl_tile_take(int32_t left) {
    return left == 4 ? 2 : left < NNACL_TILE_PANELS ? left : NNACL_TILE_PANELS;
}

#endif
