/* SPDX-License-Identifier: Apache-2.0 */
/* As softmax_f32_c.c, eight neighbours along the axis at once: the same partial sums, the same bits. */
#include "common/float_math.h"
#include "common/share.h"
#include "common/vector_f32_neon.h"
#include "softmax/softmax.h"

/* The largest of `depth` values, in all lanes; NaN if there is one. */
NNACL_ALWAYS_INLINE vector largest(const float *x, int32_t depth) {
    const vector first = spread(x[0]); /* stands behind the end too */
    vector max = first;
    for (int32_t j = 0; j < depth; j += LANES) {
        max = larger(max, load_or(x + j, depth - j, first));
    }
    return spread(largest_lane(max));
}

/* y = (x - max) * beta, and e to that instead if `exponents`. Returns the sum of the exponents. */
NNACL_ALWAYS_INLINE float exponents_of(const float *x, float *y, int32_t depth, float beta, const bool exponents) {
    const vector max = largest(x, depth), factor = spread(beta);
    vector lanes = spread(0.0f);
    for (int32_t j = 0; j < depth; j += LANES) {
        const vector v = mul(sub(load(x + j, depth - j), max), factor), e = exponential(v);
        store(y + j, depth - j, exponents ? e : v);
        if (depth - j >= LANES) {
            lanes = add(lanes, e);
            continue;
        }
        float rest[LANES] = {0.0f};
        store(rest, depth - j, e);
        lanes = add(lanes, load_all(rest));
    }
    return sum_of_lanes(lanes);
}

NNACL_DECLARE(nnacl_softmax_f32_neon);
void nnacl_softmax_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)i * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)i * p->depth;
        const vector factor = spread(1.0f / exponents_of(x, y, p->depth, p->beta, true));
        for (int32_t j = 0; j < p->depth; j += LANES) {
            store(y + j, p->depth - j, mul(load(y + j, p->depth - j), factor));
        }
    }
}

NNACL_DECLARE(nnacl_log_softmax_f32_neon);
void nnacl_log_softmax_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_softmax_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t i = share.begin; i < share.end; i++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)i * p->depth;
        float *y = (float *)out[0] + (ptrdiff_t)i * p->depth;
        const vector logarithm = spread(nnacl_logf(exponents_of(x, y, p->depth, p->beta, false)));
        for (int32_t j = 0; j < p->depth; j += LANES) {
            store(y + j, p->depth - j, sub(load(y + j, p->depth - j), logarithm));
        }
    }
}
