/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the kind of a number: b8 out. */
#include <float.h>

#include "common/share.h"
#include "elementwise/elementwise.h"

#define CLASSIFY(op, dtype, type, expression)                                                                          \
    NNACL_DECLARE(nnacl_##op##_##dtype##_c);                                                                           \
    void nnacl_##op##_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],                    \
                                  void *const out[]) {                                                                 \
        const nnacl_unary_params *p = params;                                                                          \
        const type *x = in[0];                                                                                         \
        uint8_t *y = out[0];                                                                                           \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        for (int32_t i = share.begin; i < share.end; i++) {                                                            \
            const type v = x[i];                                                                                       \
            y[i] = expression;                                                                                         \
        }                                                                                                              \
    }

#define BOTH(dtype, type, most)                                                                                        \
    CLASSIFY(is_nan, dtype, type, v != v)                                                                              \
    CLASSIFY(is_inf, dtype, type, (v < -(most) && p->alpha != 0.0f) || (v > (most) && p->beta != 0.0f))

BOTH(f32, float, FLT_MAX)
BOTH(f64, double, DBL_MAX)
