/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector of s16 with four rows of s8 at a time, packed by rows_s16_pack.h, for the DSP extension. */
#ifndef NNACL_ROWS_S16_DSP_H
#define NNACL_ROWS_S16_DSP_H

#include "nnacl_base.h"

/* Whole fours of x; `quads` is at least 1. */
void nnacl_quads4_s16_dsp(const int16_t *x, const int8_t *w, int32_t quads, int32_t sums[4]);

/* Adds to sums[i], modulo 2^32, the products of x with row i of the group at w. x begins at a whole word. */
static inline void nnacl_rows4_s16_dsp(const int16_t *x, int32_t count, const int8_t *w, int32_t sums[4]) {
    if (count >= 4) {
        nnacl_quads4_s16_dsp(x, w, count / 4, sums);
    }
    for (int32_t i = count / 4 * 4; i < count; i++) {
        for (int32_t row = 0; row < 4; row++) {
            sums[row] = (int32_t)((uint32_t)sums[row] + (uint32_t)(x[i] * w[4 * i + row]));
        }
    }
}

/* x as s16; `wide` begins at a whole word. */
void nnacl_widen_s8_dsp(const int8_t *x, int32_t count, int16_t *wide);

#endif
