/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of quantized integers of one element type. */
#ifndef NNACL_REDUCE_QUANTIZED_H
#define NNACL_REDUCE_QUANTIZED_H

#include "common/requant.h"
#include "common/requant_wide.h"
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

/* The product of the elements of output `output`, of which there is at least one, in the units of y. */
#define NNACL_REDUCE_PRODUCT(symbol, type)                                                                             \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_reduce_params *p = params;                                                                         \
        type *y = out[0];                                                                                              \
        const nnacl_reduce_walk walk = nnacl_reduce_plan_walk(p);                                                      \
        const nnacl_range share = nnacl_share(ctx, walk.outputs);                                                      \
        for (int32_t output = share.begin; output < share.end; output++) {                                             \
            const type *x = (const type *)in[0] + nnacl_reduce_offset(p, &walk, output, 0);                            \
            int64_t product = 0;                                                                                       \
            for (int32_t r = 0; r < walk.runs; r++) {                                                                  \
                const type *run = x + nnacl_reduce_offset(p, &walk, r, 1);                                             \
                for (int32_t j = 0; j < walk.length; j++) {                                                            \
                    const int32_t factor = run[j * walk.step] - p->x_zero;                                             \
                    product = r == 0 && j == 0 ? factor                                                                \
                                               : nnacl_requant_wide(product * factor, p->mult, p->shift, p->rounding); \
                }                                                                                                      \
            }                                                                                                          \
            const int32_t scaled = nnacl_requant_wide(product, p->mult, p->shift, p->rounding);                        \
            y[output] = (type)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);              \
        }                                                                                                              \
    }

#define NNACL_REDUCE_SCALED(symbol, type)                                                                              \
    NNACL_REDUCE_KERNEL(symbol, type, int32_t, 0, a + b, (type)nnacl_reduce_finish(a, count, p))

#endif
