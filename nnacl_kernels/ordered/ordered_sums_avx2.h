/* SPDX-License-Identifier: Apache-2.0 */
/* nnacl_ordered_sums() with the instruction for fused multiply-adds, on eight results at a time. */
#ifndef NNACL_ORDERED_SUMS_AVX2_H
#define NNACL_ORDERED_SUMS_AVX2_H

#include "ordered/ordered_sums.h"

void nnacl_ordered_sums_avx2(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, int32_t place,
                             int32_t step, float *sums);

#endif
