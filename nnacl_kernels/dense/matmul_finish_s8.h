/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NNACL_MATMUL_FINISH_S8_H
#define NNACL_MATMUL_FINISH_S8_H

#include "common/requant.h"
#include "dense/dense.h"

/* A sum of products without their zero points as an element of y. */
static inline int8_t nnacl_matmul_finish_s8(int32_t sum, const nnacl_matmul_params *p) {
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_FLOAT_EVEN)) {
        return (int8_t)nnacl_requant_float(sum, p->scale, p->y_zero, p->q_min, p->q_max);
    }
    const int32_t scaled = nnacl_requant(sum, p->mult, p->shift, p->rounding);
    return (int8_t)nnacl_clamp_s32(nnacl_add_saturate(scaled, p->y_zero), p->q_min, p->q_max);
}

#endif
