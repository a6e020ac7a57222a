/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector of s16 with rows of s8 that are not packed, for MVE. */
#ifndef NNACL_ROWS_S16_MVE_H
#define NNACL_ROWS_S16_MVE_H

#include "nnacl_base.h"

/* Adds to sums[i], modulo 2^32, the products of x with the row at w + i * stride. count is at least 1. */
void nnacl_rows4_s16_mve(const int16_t *x, const int8_t *w, int32_t stride, int32_t count, int32_t sums[4]);

#endif
