/* SPDX-License-Identifier: Apache-2.0 */
/* Integers are computed unsigned, so that they wrap and either sign shares the code. */
#include "common/share.h"
#include "cumulative/cumulative.h"

#define CUMULATIVE(op, dtype, type, neutral, operator)                                                                 \
    NNACL_DECLARE(nnacl_##op##_##dtype##_c);                                                                           \
    void nnacl_##op##_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_cumulative_params *p = params;                                                                     \
        const nnacl_range rows = nnacl_share(ctx, p->outer * p->inner);                                                \
        for (int32_t row = rows.begin; row < rows.end; row++) {                                                        \
            const ptrdiff_t start = (ptrdiff_t)(row / p->inner) * p->depth * p->inner + row % p->inner;                \
            const type *x = (const type *)in[0] + start;                                                               \
            type *y = (type *)out[0] + start;                                                                          \
            type total = neutral;                                                                                      \
            for (int32_t j = 0; j < p->depth; j++) {                                                                   \
                const ptrdiff_t i = (ptrdiff_t)(p->reverse ? p->depth - 1 - j : j) * p->inner;                         \
                const type next = total operator x[i];                                                                 \
                y[i] = p->exclusive ? total : next;                                                                    \
                total = next;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }

CUMULATIVE(cumsum, f32, float, 0.0f, +)
CUMULATIVE(cumsum, i32, uint32_t, 0, +)
CUMULATIVE(cumsum, i64, uint64_t, 0, +)
CUMULATIVE(cumprod, f32, float, 1.0f, *)
CUMULATIVE(cumprod, i32, uint32_t, 1, *)
CUMULATIVE(cumprod, i64, uint64_t, 1, *)
