/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector of s8 with four rows of s8 at a time, for the DSP extension. The rows need not be packed: for
 * recurrent layers and for weights that are multiplied with few vectors. */
#ifndef NNACL_ROWS_S8_DSP_H
#define NNACL_ROWS_S8_DSP_H

#include "nnacl_base.h"

/* Words of a widened vector. */
static inline int32_t nnacl_row_words(int32_t count) {
    return count / 4 * 2;
}

/* Widens whole fours of x - zero to 16 bits, in the order of the products. */
void nnacl_widen_row_s8_dsp(uint32_t *widened, const int8_t *x, int32_t count, int32_t zero);

/* Adds to sums[i] the products of x - zero with the row at w + i * stride. `widened` is x of nnacl_widen_row_s8_dsp().
 */
void nnacl_rows4_s8_dsp(const uint32_t *widened, const int8_t *x, int32_t zero, int32_t count, const int8_t *w,
                        int32_t stride, int32_t sums[4]);
/* One row. */
int32_t nnacl_row_s8_dsp(const uint32_t *widened, const int8_t *x, int32_t zero, int32_t count, const int8_t *w);

/* Moves `count` (0 or more) numbers from `from` to `to`, which may lie just before it, and returns the sum of their
 * products with the weights, modulo 2^32. */
int32_t nnacl_move_s16_dsp(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count);

#endif
