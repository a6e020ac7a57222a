/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax and log-softmax of 16 bits have in common: rows along the axis, whose elements are p->inner apart. */
#ifndef NNACL_SOFTMAX_ROWS_S16_H
#define NNACL_SOFTMAX_ROWS_S16_H

#include "common/curve_s16.h"
#include "softmax/softmax.h"

/* Where row `i` of outer * inner begins. */
static inline ptrdiff_t nnacl_softmax_row(const nnacl_softmax_params *p, int32_t i) {
    return (ptrdiff_t)(i / p->inner) * p->depth * p->inner + i % p->inner;
}

static inline int32_t nnacl_softmax_max_s16(const nnacl_softmax_params *p, const int16_t *x) {
    int32_t max = INT16_MIN;
    for (int32_t j = 0; j < p->depth; j++) {
        const int32_t value = x[(ptrdiff_t)j * p->inner];
        max = value > max ? value : max;
    }
    return max;
}

/* The exponential of an element less the largest, in steps of 2^-15, by the curve of 513 points. */
static inline int32_t nnacl_softmax_exp_s16(const nnacl_softmax_params *p, int32_t x, int32_t max,
                                            const int16_t *exponential) {
    const int32_t scaled = nnacl_requant_double(x - max, p->mult, p->shift);
    return nnacl_curve_at_s16(exponential, nnacl_add_saturate(scaled, 32767));
}

typedef struct nnacl_softmax_inverse {
    int32_t factor, right;
} nnacl_softmax_inverse;

/* One over a sum of exponentials: times factor / 2^right, 1 <= right <= 30. The sum is 1 + a fraction, which has a
 * place on the curve, times a power of two. */
static inline nnacl_softmax_inverse nnacl_softmax_invert_s16(uint32_t sum, const int16_t *curve) {
    int32_t zeros = 1;
    while (zeros < 30 && !(sum >> (31 - zeros))) {
        zeros++;
    }
    const int64_t fraction = (((int64_t)(int32_t)sum * ((int64_t)1 << (zeros - 1))) + (1 << 13)) >> 14;
    const int32_t factor = nnacl_curve_at_s16(curve, (int32_t)fraction - (1 << 15) - (1 << 16));
    return (nnacl_softmax_inverse){factor, 31 - zeros};
}

#endif
