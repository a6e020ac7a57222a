/* SPDX-License-Identifier: Apache-2.0 */
/* The averages of one output position from sums of some channels at a time. */
#ifndef NNACL_AVG_POOL_SUMS_H
#define NNACL_AVG_POOL_SUMS_H

#include "pool/avg_pool_integer.h"
#include "pool/pool_positions.h"

/* Of elements of `size` bytes, 1 or 2. `width` is the most that `sum` can take. */
static inline void nnacl_avg_pool_position(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y,
                                           int32_t out_x, int32_t size, void *y, int32_t width, nnacl_sum_taps sum) {
    const int32_t inside = t->rows * t->columns;
    const nnacl_average average =
        nnacl_average_of(p, inside, nnacl_pool_divisor(p, out_y, out_x, inside), size == 1 ? INT8_MIN : INT16_MIN);
    for (int32_t c = 0; c < p->channels; c += width) {
        const int32_t lanes = p->channels - c < width ? p->channels - c : width;
        int32_t sums[NNACL_TAP_LANES];
        sum(t, c, lanes, sums);
        for (int32_t i = 0; i < lanes; i++) {
            const int32_t value = nnacl_average_at(&average, sums[i], p->rounding);
            if (size == 1) {
                ((int8_t *)y)[c + i] = (int8_t)value;
            } else {
                ((int16_t *)y)[c + i] = (int16_t)value;
            }
        }
    }
}

/* A kernel of all positions. `how`: inline is shorter, NNACL_NOINLINE, which keeps registers for the sums, is faster.
 */
#define NNACL_AVG_POOL_SUMS(symbol, type, width, sum, how)                                                             \
    NNACL_DECLARE(symbol);                                                                                             \
    static how void run(const nnacl_pool2d_params *p, const nnacl_taps *t, int32_t out_y, int32_t out_x, void *y) {    \
        nnacl_avg_pool_position(p, t, out_y, out_x, sizeof(type), y, width, sum);                                      \
    }                                                                                                                  \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        nnacl_pool_positions(ctx, params, sizeof(type), in[0], out[0], run);                                           \
    }

#endif
