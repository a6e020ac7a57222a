/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax and log_softmax of s8 begin with. */
#ifndef NNACL_SOFTMAX_S8_H
#define NNACL_SOFTMAX_S8_H

#include <string.h>

#include "common/requant.h"
#include "softmax/exp_powers.h"
#include "softmax/softmax.h"

typedef struct nnacl_softmax_s8_sums {
    int32_t max;
    float sum; /* of exp(x - max), in the order of the elements */
} nnacl_softmax_s8_sums;

/* exp of `below` steps of x, 0 .. 255, less than nothing. The table holds that of 255 steps first; where
 * NNACL_NEEDS_PACKED_EXP says so, it is 16 floats for 16 steps each, 16 for one step each, and for each entry a byte
 * with the units in the last place that their product misses; where NNACL_NEEDS_EXP_POWERS does, a nnacl_exp_powers. */
static inline float nnacl_softmax_s8_exp(const float *table, int32_t below) {
    if (NNACL_NEEDS_EXP_POWERS) {
        return nnacl_exp_power((const nnacl_exp_powers *)(const void *)table, (uint32_t)below);
    }
    if (!NNACL_NEEDS_PACKED_EXP) {
        return table[255 - below];
    }
    float value = table[below >> 4] * table[16 + (below & 15)];
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += ((const int8_t *)(table + 32))[below];
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of `depth` elements of x, `step` apart. */
static inline nnacl_softmax_s8_sums nnacl_softmax_s8_sum(const int8_t *x, ptrdiff_t step, int32_t depth,
                                                         const float *table) {
    nnacl_softmax_s8_sums sums = {-128, 0.0f};
    for (int32_t j = 0; j < depth; j++) {
        sums.max = x[j * step] > sums.max ? x[j * step] : sums.max;
    }
    for (int32_t j = 0; j < depth; j++) {
        sums.sum += nnacl_softmax_s8_exp(table, sums.max - x[j * step]);
    }
    return sums;
}

/* What the exponentials of a row are multiplied with. */
static inline float nnacl_softmax_s8_factor(const nnacl_softmax_params *p, float sum) {
    return NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN) ? 1.0f / sum : 1.0f / (sum * p->y_scale);
}

/* An exponential, times this factor, as an element of y, which has s8. */
static inline int8_t nnacl_softmax_s8_finish(const nnacl_softmax_params *p, float exponential, float factor) {
    const int32_t low = -128 - p->y_zero, high = 127 - p->y_zero;
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return (int8_t)(nnacl_round_even(exponential * factor / p->y_scale, low, high) + p->y_zero);
    }
    return (int8_t)(nnacl_round_away(exponential * factor, low, high) + p->y_zero);
}

#endif
