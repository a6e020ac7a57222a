/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of many floats: what each addition rounds off is kept and added at the end, so that the error does not grow with
 * the number of summands (compensated summation; the rounding error of a sum as in Knuth, TAOCP 2, 4.2.2). */
#ifndef NNACL_LONG_SUM_H
#define NNACL_LONG_SUM_H

typedef struct nnacl_long_sum {
    float total, rest;
} nnacl_long_sum;

static inline void nnacl_long_sum_add(nnacl_long_sum *sum, float x) {
    const float total = sum->total + x;
    const float taken = total - sum->total;
    sum->rest += (sum->total - (total - taken)) + (x - taken);
    sum->total = total;
}

/* An infinite or undefined total has no rest. */
static inline float nnacl_long_sum_value(const nnacl_long_sum *sum) {
    const float value = sum->total + sum->rest;
    return value == value ? value : sum->total;
}

#endif
