/* SPDX-License-Identifier: Apache-2.0 */
/* Products of float rows for MVE with floats (Cortex-M55, M85): four output channels in a vector, each element of a row
 * a scalar. In the order of the kernels in C, but products are added without being rounded. */
#ifndef NNACL_MULTIPLY_F32_MVE_H
#define NNACL_MULTIPLY_F32_MVE_H

#include "common/panels.h"

/* Positions that nnacl_multiply4_f32_mve() computes together. */
#define NNACL_POSITIONS_MVE 4

/* Rows, which are runs of neighbours, times columns of weights (panels.h) by fours. The assembly knows order and size
 * of the fields; it changes some. */
typedef struct nnacl_multiply_mve {
    const float *weights; /* at the first run, of the first four columns */
    int32_t panel_step;   /* bytes to those of the next four */
    const float *bias;    /* or NULL */
    int32_t channels;     /* columns, at least 1 */
    int32_t length;       /* elements of a run, at least 1 */
    int32_t runs;         /* 0 or more */
    int32_t row_step;     /* bytes from the end of a run to the next */
    int32_t weights_step; /* the same */
    int32_t is_clamped;
    float clamp_min, clamp_max;
    const float *x[NNACL_POSITIONS_MVE]; /* the first run at each position */
    float *y[NNACL_POSITIONS_MVE];       /* several may be one */
} nnacl_multiply_mve;

void nnacl_multiply4_f32_mve(nnacl_multiply_mve *m);
/* The first position only. */
void nnacl_multiply1_f32_mve(nnacl_multiply_mve *m);

/* A window over channels, each with weights of its own. */
typedef struct nnacl_taps_mve {
    const float *x;
    const float *weights;
    int32_t taps;                     /* in a row, at least 1 */
    int32_t rows;                     /* of the window, 0 or more */
    int32_t tap_step, row_step;       /* bytes from a tap to the next, from behind the last one to the next row */
    int32_t weights_tap, weights_row; /* the same */
    const float *bias;                /* or NULL */
    float *y;
    int32_t channels; /* at least 1 */
    int32_t is_clamped;
    float clamp_min, clamp_max;
} nnacl_taps_mve;

void nnacl_taps_f32_mve(nnacl_taps_mve *t);

#endif
