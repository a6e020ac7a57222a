/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector of s8 with the columns of a matrix of s8 whose rows lie in memory, for MVE. */
#ifndef NNACL_COLUMNS_S8_MVE_H
#define NNACL_COLUMNS_S8_MVE_H

#include "nnacl_base.h"

/* Adds to sums[j] the products of x - zero with column j of `w`, for `columns` columns; x has an element for each of
 * the `rows` rows, which begin `stride` bytes apart. */
void nnacl_columns_s8_mve(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride, int32_t columns,
                          int32_t *sums);

#endif
