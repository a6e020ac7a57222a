/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of the s8 convolution and dense of any AArch64: up to 2 rows by 8 columns. Products of bytes are added in
 * pairs in 16 bits and then, neighbour to neighbour, in 32; at the end the four sums of an output are added. */
#ifndef NNACL_GEMM_S8_NEON_H
#define NNACL_GEMM_S8_NEON_H

#include "common/tile_s8_neon.h"

#define NNACL_ROWS_NEON 2
#define NNACL_LAYOUT_NEON nnacl_arm_layout_of(NNACL_ISA_NEON)

/* An nnacl_arm_rows_fn. A single row of one run may be multiplied by two panels, one behind the other, at once. */
void nnacl_rows_s8_neon(const nnacl_arm_tile *t, nnacl_arm_walk walk, int32_t count);

#endif
