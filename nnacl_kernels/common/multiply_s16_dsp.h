/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows of s16 with weights of s8 in 64 bits, for the DSP extension. */
#ifndef NNACL_MULTIPLY_S16_DSP_H
#define NNACL_MULTIPLY_S16_DSP_H

#include "nnacl_base.h"

/* Two channels of weights and one or two rows, which are runs of neighbours, a word for each two of them. The assembly
 * knows order and size of the fields. */
typedef struct nnacl_multiply_s16_dsp {
    const int16_t *x, *second; /* the rows; `second` for two only */
    const int8_t *weights;     /* for each two elements (a0, b0, a1, b1) of the channels a and b */
    int32_t units;             /* in a run, at least 1 */
    int32_t runs;              /* at least 1 */
    int32_t row_step;          /* bytes from the end of a run to the next */
    int64_t *sums;             /* [rows][2], added to */
} nnacl_multiply_s16_dsp;

void nnacl_multiply2x1_s16_dsp(const nnacl_multiply_s16_dsp *m);
void nnacl_multiply2x2_s16_dsp(const nnacl_multiply_s16_dsp *m);

#endif
