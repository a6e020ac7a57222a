/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of the s8 convolution and dense of AArch64 with products of matrices (smmla): up to 4 rows by 16 columns. */
#ifndef NNACL_GEMM_S8_I8MM_H
#define NNACL_GEMM_S8_I8MM_H

#include "common/tile_s8_neon.h"

#define NNACL_ROWS_I8MM 4
#define NNACL_LAYOUT_I8MM nnacl_arm_layout_of(NNACL_ISA_I8MM)

/* An nnacl_arm_rows_fn. */
void nnacl_rows_s8_i8mm(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count);

#endif
