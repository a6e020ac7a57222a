/* SPDX-License-Identifier: Apache-2.0 */
/* The averages of one output position from sums of some channels at a time. */
#ifndef NNACL_AVG_POOL_SUMS_S8_H
#define NNACL_AVG_POOL_SUMS_S8_H

#include "pool/avg_pool_integer.h"
#include "pool/pool_walk_s8.h"

/* `width` is the most that `sum` can take. */
static inline void nnacl_avg_pool_position(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y,
                                           int32_t out_x, int8_t *y, int32_t width, nnacl_sum_taps sum) {
    const int32_t inside = t->rows * t->columns;
    const int32_t divisor = nnacl_pool_divisor(p, out_y, out_x, inside);
    const int32_t padding = (divisor - inside) * p->x_zero;
    for (int32_t c = 0; c < p->channels; c += width) {
        const int32_t lanes = p->channels - c < width ? p->channels - c : width;
        int32_t sums[NNACL_TAP_LANES];
        sum(t, c, lanes, sums);
        for (int32_t i = 0; i < lanes; i++) {
            y[c + i] = (int8_t)nnacl_avg_pool_finish(sums[i] + padding, divisor, INT8_MIN, p);
        }
    }
}

#endif
