/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows of s16 with weights of s8 for MVE. */
#ifndef NNACL_MULTIPLY_S16_MVE_H
#define NNACL_MULTIPLY_S16_MVE_H

#include "nnacl_base.h"

/* Two rows, which are runs of neighbours, and two channels of weights. The assembly knows order and size of the fields.
 */
typedef struct nnacl_multiply_s16_mve {
    const int16_t *x, *second; /* the rows; may be one */
    const int8_t *weights;     /* of the first channel */
    int32_t channel_step;      /* bytes to the second */
    int32_t length;            /* elements of a run, at least 1 */
    int32_t runs;              /* at least 1 */
    int32_t row_step;          /* bytes from a run to the next */
    int64_t *sums;             /* [rows][2], added to */
} nnacl_multiply_s16_mve;

void nnacl_multiply2x2_s16_mve(const nnacl_multiply_s16_mve *m);

/* Adds the products of `count` (at least 1) taps of eight channels to sums[8], modulo 2^32. Steps are in bytes. */
void nnacl_taps8_s16_mve(const int16_t *x, int32_t x_step, const int8_t *w, int32_t w_step, int32_t count,
                         int32_t *sums);

#endif
