/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the float32 convolution, dense and matmul of AVX-512 are made of: up to 8 rows by three panels of 16
 * columns, 24 sums in registers. */
#ifndef NNACL_GEMM_F32_AVX512_H
#define NNACL_GEMM_F32_AVX512_H

#include <immintrin.h>

#include "common/tile_f32.h"

#define NNACL_TILE_ROWS 8
#define NNACL_TILE_PANELS 3

static inline __mmask16 nnacl_lanes_avx512(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << (count > 0 ? count : 0)) - 1u);
}

/* y = clamp(a x b + bias) for 1 .. 8 rows. */
void nnacl_tile_run_f32_avx512(const nnacl_tile *t, int32_t rows);

/* The same for a product that has one row in all: the order of its sum may not depend on how work is split. */
void nnacl_tile_run_vector_f32_avx512(const nnacl_tile *t);

static const nnacl_tile_method nnacl_tiles_f32_avx512 = {NNACL_TILE_ROWS, NNACL_TILE_PANELS, nnacl_tile_run_f32_avx512,
                                                         nnacl_tile_run_vector_f32_avx512};

#endif
