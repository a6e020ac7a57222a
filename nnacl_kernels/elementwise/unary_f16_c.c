/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions of halves that need nothing but arithmetic: computed in f32, rounded once. One loop for all,
 * because it is for machines without half-precision arithmetic. */
#include "common/half.h"
#include "common/share.h"
#include "elementwise/elementwise.h"
#include "elementwise/simple_f32.h"

typedef float (*unary_function)(float v, float alpha, float beta);

static NNACL_NOINLINE void run(const nnacl_ctx *ctx, const nnacl_unary_params *p, const uint16_t *x, uint16_t *y,
                               unary_function function) {
    const nnacl_range share = nnacl_share(ctx, p->count);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = nnacl_float_to_half(function(nnacl_half_to_float(x[i]), p->alpha, p->beta));
    }
}

#define UNARY(op, value)                                                                                               \
    static float op##_of(float v, float alpha, float beta) {                                                           \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        return value;                                                                                                  \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_##op##_f16_c);                                                                                 \
    void nnacl_##op##_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {     \
        run(ctx, params, in[0], out[0], op##_of);                                                                      \
    }

UNARY(relu, nnacl_relu_f32(v))
UNARY(leaky_relu, nnacl_leaky_relu_f32(v, alpha))
UNARY(clip, nnacl_clip_f32(v, alpha, beta))
UNARY(hard_sigmoid, nnacl_hard_sigmoid_f32(v, alpha, beta))
UNARY(hard_swish, nnacl_hard_swish_f32(v))
