/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of quantized integers of one element type. */
#ifndef NNACL_REDUCE_QUANTIZED_H
#define NNACL_REDUCE_QUANTIZED_H

#include "common/requant.h"
#include "reduce/reduce_walk.h"

/* `sum` of `count` values x; the plan half has made sure that no sum passes 2^31. */
static inline int32_t nnacl_reduce_finish(int32_t sum, int32_t count, const nnacl_reduce_params *p) {
    const int32_t value = sum - count * p->x_zero;
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return nnacl_requant_float(value, p->scale, p->y_zero, p->q_min, p->q_max);
    }
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_TFLITE_DOWN)) {
        const int32_t size = nnacl_requant_single(value < 0 ? -value : value, p->mult, p->shift);
        return nnacl_clamp_s32(nnacl_add_saturate(value < 0 ? -size : size, p->y_zero), p->q_min, p->q_max);
    }
    const int32_t scaled = nnacl_requant(value, p->mult, p->shift, p->rounding);
    return nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

#define NNACL_REDUCE_SCALED(symbol, type)                                                                              \
    NNACL_REDUCE_KERNEL(symbol, type, int32_t, 0, a + b, (type)nnacl_reduce_finish(a, count, p))

#endif
