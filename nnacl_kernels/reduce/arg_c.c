/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "reduce/reduce.h"

#define ARG(op, dtype, type, better)                                                                                   \
    NNACL_DECLARE(nnacl_##op##_##dtype##_c);                                                                           \
    void nnacl_##op##_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_arg_params *p = params;                                                                            \
        const nnacl_range share = nnacl_share(ctx, p->outer * p->inner);                                               \
        for (int32_t i = share.begin; i < share.end; i++) {                                                            \
            const type *x = (const type *)in[0] + (ptrdiff_t)(i / p->inner) * p->depth * p->inner + i % p->inner;      \
            type best = x[0];                                                                                          \
            int32_t position = 0;                                                                                      \
            for (int32_t j = 1; j < p->depth; j++) {                                                                   \
                const type v = x[(ptrdiff_t)j * p->inner];                                                             \
                if (v better best || (p->select_last && v == best)) {                                                  \
                    best = v;                                                                                          \
                    position = j;                                                                                      \
                }                                                                                                      \
            }                                                                                                          \
            if (p->to == NNACL_S32) {                                                                                  \
                ((int32_t *)out[0])[i] = position;                                                                     \
            } else {                                                                                                   \
                ((int64_t *)out[0])[i] = position;                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

#define BOTH(dtype, type)                                                                                              \
    ARG(argmax, dtype, type, >)                                                                                        \
    ARG(argmin, dtype, type, <)

BOTH(f32, float)
BOTH(f64, double)
BOTH(s8, int8_t)
BOTH(u8, uint8_t)
BOTH(s32, int32_t)
BOTH(s64, int64_t)
BOTH(u64, uint64_t)
