/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of the s8 convolution and dense of AArch64 with dot products (sdot): up to 5 rows by 16 columns. */
#ifndef NNACL_GEMM_S8_DOTPROD_H
#define NNACL_GEMM_S8_DOTPROD_H

#include "common/tile_s8_neon.h"

#define NNACL_ROWS_DOTPROD 5
#define NNACL_LAYOUT_DOTPROD nnacl_arm_layout_of(NNACL_ISA_DOTPROD)

/* An nnacl_arm_rows_fn. */
void nnacl_rows_s8_dotprod(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count);

#endif
