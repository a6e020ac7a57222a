/* SPDX-License-Identifier: Apache-2.0 */
/* Products of float rows for a floating-point unit of single precision with 32 registers (FPv4, FPv5). Products and
 * sums are rounded one by one and in the order of the kernels in C, so that the bits are theirs; fused they would also
 * take longer on a Cortex-M4. */
#ifndef NNACL_MULTIPLY_F32_VFP_H
#define NNACL_MULTIPLY_F32_VFP_H

#include "common/panels.h"

/* Channels that nnacl_taps8_f32_vfp() computes at a time. */
#define NNACL_CHANNELS_VFP 8

/* Four columns of weights (panels.h) and one or two rows, which are runs of neighbours. The assembly knows order and
 * size of the fields. */
typedef struct nnacl_multiply_vfp {
    const float *a, *b; /* the rows; b for two only */
    const float *weights;
    int32_t length;       /* elements of a run */
    int32_t runs;         /* at least 1 */
    int32_t row_step;     /* bytes from the end of a run to the next */
    int32_t weights_step; /* the same */
    float *sums;          /* [rows][4], added to */
} nnacl_multiply_vfp;

void nnacl_multiply4x1_f32_vfp(const nnacl_multiply_vfp *m);
void nnacl_multiply4x2_f32_vfp(const nnacl_multiply_vfp *m);

/* A window over eight channels, each with weights of its own. */
typedef struct nnacl_taps_vfp {
    const float *x;
    const float *weights;
    int32_t taps, rows;               /* of the window, at least 1 */
    int32_t tap_step, row_step;       /* bytes from the end of a tap to the next, from the end of a row to the next */
    int32_t weights_tap, weights_row; /* the same */
    float *sums;                      /* [8], added to */
} nnacl_taps_vfp;

void nnacl_taps8_f32_vfp(const nnacl_taps_vfp *t);

#endif
