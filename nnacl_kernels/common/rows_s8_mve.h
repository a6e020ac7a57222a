/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector of s8 with rows of s8 that are not packed, for MVE. */
#ifndef NNACL_ROWS_S8_MVE_H
#define NNACL_ROWS_S8_MVE_H

#include "nnacl_base.h"

/* Adds to sums[i] the products of x with the row at w + i * stride. count is at least 1. */
void nnacl_rows4_s8_mve(const int8_t *x, const int8_t *w, int32_t stride, int32_t count, int32_t sums[4]);
/* One row: sums[0], and in sums[1] the elements of the row. */
void nnacl_row_s8_mve(const int8_t *x, const int8_t *w, int32_t count, int32_t sums[2]);

/* Moves `count` (0 or more) numbers from `from` to `to`, which may lie just before it, and returns the sum of their
 * products with the weights, modulo 2^32. */
int32_t nnacl_move_s16_mve(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count);

#endif
