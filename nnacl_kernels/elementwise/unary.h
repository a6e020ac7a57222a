/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the kernel nnacl_<op>_<dtype>_c over nnacl_unary_params; `expression` computes one y from v, alpha, beta. */
#ifndef NNACL_UNARY_H
#define NNACL_UNARY_H

#include "common/share.h"
#include "elementwise/elementwise.h"

#define NNACL_UNARY_KERNEL(symbol, type, expression)                                                                   \
    static inline type symbol##_one(type v, float alpha, float beta) {                                                 \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        return expression;                                                                                             \
    }                                                                                                                  \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_unary_params *p = params;                                                                          \
        const type *x = in[0];                                                                                         \
        type *y = out[0];                                                                                              \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        for (int32_t i = share.begin; i < share.end; i++) {                                                            \
            y[i] = symbol##_one(x[i], p->alpha, p->beta);                                                              \
        }                                                                                                              \
    }

#endif
