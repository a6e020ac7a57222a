/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows of halves for MVE with floats: eight output channels in a vector, each element of a row a scalar. At
 * most NNACL_HALVES_MVE products in a row are summed in f16, such sums in f32. */
#ifndef NNACL_MULTIPLY_F16_MVE_H
#define NNACL_MULTIPLY_F16_MVE_H

#include "common/panels.h"

/* Positions that are computed together. */
#define NNACL_POSITIONS_F16 4
#define NNACL_HALVES_MVE 32

/* Rows, which are runs of neighbours, times columns of weights (panels.h) by eights. Steps are in elements. */
typedef struct nnacl_multiply_f16 {
    const uint16_t *weights; /* at the first run, of the first eight columns */
    int32_t panel_step;      /* to those of the next eight */
    const float *bias;       /* or NULL */
    int32_t channels;        /* columns, at least 1 */
    int32_t length;          /* elements of a run */
    int32_t runs;
    int32_t row_step;     /* from the end of a run to the next */
    int32_t weights_step; /* the same */
    float clamp_min, clamp_max;
    const uint16_t *x[NNACL_POSITIONS_F16]; /* the first run at each position */
    uint16_t *y[NNACL_POSITIONS_F16];       /* several may be one */
} nnacl_multiply_f16;

void nnacl_multiply4_f16_mve(const nnacl_multiply_f16 *m);
/* The first position only. */
void nnacl_multiply1_f16_mve(const nnacl_multiply_f16 *m);

#endif
