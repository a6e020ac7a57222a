/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "reduce/reduce_walk.h"

/* `sum` of `count` values x; the plan half has made sure that no sum passes 2^31. */
static inline int8_t finish(int32_t sum, int32_t count, const nnacl_reduce_params *p) {
    const int32_t value = sum - count * p->x_zero;
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        return (int8_t)nnacl_requant_float(value, p->scale, p->y_zero, p->q_min, p->q_max);
    }
    const int32_t scaled = nnacl_requant(value, p->mult, p->shift, p->rounding);
    return (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

NNACL_REDUCE_KERNEL(nnacl_reduce_mean_s8_c, int8_t, int32_t, 0, a + b, finish(a, count, p))
NNACL_REDUCE_KERNEL(nnacl_reduce_sum_s8_c, int8_t, int32_t, 0, a + b, finish(a, count, p))
NNACL_REDUCE_KERNEL(nnacl_reduce_max_s8_c, int8_t, int8_t, INT8_MIN, a > b ? a : b, a)
NNACL_REDUCE_KERNEL(nnacl_reduce_min_s8_c, int8_t, int8_t, INT8_MAX, a < b ? a : b, a)
