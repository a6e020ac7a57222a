/* SPDX-License-Identifier: Apache-2.0 */
#include "data/data.h"

/* Integers wrap, as the count has to end before they do. */
#define RANGE(dtype, type, element)                                                                                    \
    NNACL_DECLARE(nnacl_range_##dtype##_c);                                                                            \
    void nnacl_range_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                     \
                                 void *const out[]) {                                                                  \
        const nnacl_range_params *p = params;                                                                          \
        const type start = *(const type *)in[0];                                                                       \
        const type delta = *(const type *)in[2];                                                                       \
        type *y = out[0];                                                                                              \
        for (int32_t i = 0; i < p->count && ctx->part == 0; i++) {                                                     \
            y[i] = element;                                                                                            \
        }                                                                                                              \
    }

RANGE(f32, float, start + (float)i * delta)
RANGE(s32, int32_t, (int32_t)((uint32_t)start + (uint32_t)i * (uint32_t)delta))
RANGE(s64, int64_t, (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta))
