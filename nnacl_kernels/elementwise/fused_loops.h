/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the simple functions (nnacl_fused_loop). */
#ifndef NNACL_FUSED_LOOPS_H
#define NNACL_FUSED_LOOPS_H

#include "elementwise/fused_walk.h"
#include "elementwise/simple_f32.h"

#define NNACL_FUSED_UNARY_LOOP(op, expression)                                                                         \
    static inline void op##_loop(int32_t count, const nnacl_fused_operand *operands, float *y) {                       \
        const float *x = operands[0].data, alpha = *(const float *)operands[1].data;                                   \
        const float beta = *(const float *)operands[2].data;                                                           \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        for (int32_t i = 0; i < count; i++) {                                                                          \
            const float v = x[i];                                                                                      \
            y[i] = expression;                                                                                         \
        }                                                                                                              \
    }

#define NNACL_FUSED_BINARY_LOOP(op, expression)                                                                        \
    static inline void op##_loop(int32_t count, const nnacl_fused_operand *operands, float *y) {                       \
        const float *as = operands[0].data, *bs = operands[1].data;                                                    \
        if (operands[0].step == 0) {                                                                                   \
            const float a = *as;                                                                                       \
            for (int32_t i = 0; i < count; i++) {                                                                      \
                const float b = bs[i];                                                                                 \
                y[i] = expression;                                                                                     \
            }                                                                                                          \
        } else if (operands[1].step == 0) {                                                                            \
            const float b = *bs;                                                                                       \
            for (int32_t i = 0; i < count; i++) {                                                                      \
                const float a = as[i];                                                                                 \
                y[i] = expression;                                                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int32_t i = 0; i < count; i++) {                                                                      \
                const float a = as[i], b = bs[i];                                                                      \
                y[i] = expression;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

NNACL_SIMPLE_UNARY(NNACL_FUSED_UNARY_LOOP)
NNACL_SIMPLE_BINARY(NNACL_FUSED_BINARY_LOOP)

#endif
