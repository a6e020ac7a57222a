/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax and log_softmax of s8 begin with. */
#ifndef NNACL_SOFTMAX_S8_H
#define NNACL_SOFTMAX_S8_H

#include "nnacl_base.h"

typedef struct nnacl_softmax_s8_sums {
    int32_t max;
    float sum; /* of exp(x - max), in the order of the elements */
} nnacl_softmax_s8_sums;

/* Of `depth` elements of x, `step` apart; table[d], d = -255 .. 0, is exp of d steps of x. */
static inline nnacl_softmax_s8_sums nnacl_softmax_s8_sum(const int8_t *x, ptrdiff_t step, int32_t depth,
                                                         const float *table) {
    nnacl_softmax_s8_sums sums = {-128, 0.0f};
    for (int32_t j = 0; j < depth; j++) {
        sums.max = x[j * step] > sums.max ? x[j * step] : sums.max;
    }
    for (int32_t j = 0; j < depth; j++) {
        sums.sum += table[x[j * step] - sums.max];
    }
    return sums;
}

#endif
