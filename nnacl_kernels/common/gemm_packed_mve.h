/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_s8_mve.h with weights of 4 or 2 bits. A byte holds one weight of each of `n` = 2 or 4 neighbouring channels,
 * that of the first in its lowest bits: unsigned codes, but for the last channel, which has the code less half of its
 * values, so that the byte is a signed sum. Its products with x, less those of the byte without the first channel,
 * are those of the first channel: one shift for each further channel takes the weights apart, and the sums are set
 * right behind the loops. Of each group of four channels:
 *
 *     int32 start of each, to which the start of the next channel of the byte, so changed itself, is added 2^bits times
 *     for each chunk of each run 16 bytes of each `n` channels
 *     int32 multiplier of each, offset of each
 */
#ifndef NNACL_GEMM_PACKED_MVE_H
#define NNACL_GEMM_PACKED_MVE_H

#include "common/gemm_s8_mve.h"

/* As nnacl_gemm2_s8_mve() and nnacl_gemm1_s8_mve(); `gemm` is the first field of a nnacl_gemm_packed_mve. */
const void *nnacl_gemm2_s4_mve(const nnacl_gemm_mve *gemm);
const void *nnacl_gemm2_s2_mve(const nnacl_gemm_mve *gemm);
const void *nnacl_gemm1_s4_mve(const nnacl_gemm_mve *gemm);
const void *nnacl_gemm1_s2_mve(const nnacl_gemm_mve *gemm);

#endif
