/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the float32 convolution, dense and matmul of AArch64 are made of: up to 5 rows by one panel of 16
 * columns, 20 sums in registers. */
#ifndef NNACL_GEMM_F32_NEON_H
#define NNACL_GEMM_F32_NEON_H

#include "common/tile_f32.h"

#define NNACL_TILE_ROWS 5

void nnacl_tile_run_f32_neon(const nnacl_tile *t, int32_t rows);
void nnacl_tile_run_vector_f32_neon(const nnacl_tile *t);

static const nnacl_tile_method nnacl_tiles_f32_neon = {NNACL_TILE_ROWS, 1, nnacl_tile_run_f32_neon,
                                                       nnacl_tile_run_vector_f32_neon};

#endif
