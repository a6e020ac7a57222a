/* SPDX-License-Identifier: Apache-2.0 */
/* The unary functions of halves that need an elementary function: some floats at a time, by the kernels of f32. */
#include "elementwise/unary_math_f32_c.h"

#include "common/half.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

#define CHUNK 16

static NNACL_NOINLINE void run(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[],
                               nnacl_kernel_fn function) {
    const nnacl_ctx whole = {.parts = 1};
    const nnacl_range share = nnacl_share(ctx, ((const nnacl_unary_params *)params)->count);
    nnacl_unary_params p = *(const nnacl_unary_params *)params;
    for (int32_t first = share.begin; first < share.end; first += p.count) {
        const uint16_t *x = (const uint16_t *)in[0] + first;
        uint16_t *y = (uint16_t *)out[0] + first;
        float values[CHUNK];
        const void *const from[] = {values};
        void *const to[] = {values};
        p.count = share.end - first < CHUNK ? share.end - first : CHUNK;
        for (int32_t i = 0; i < p.count; i++) {
            values[i] = nnacl_half_to_float(x[i]);
        }
        function(&whole, &p, from, to);
        for (int32_t i = 0; i < p.count; i++) {
            y[i] = nnacl_float_to_half(values[i]);
        }
    }
}

#define UNARY(op)                                                                                                      \
    NNACL_DECLARE(nnacl_##op##_f16_c);                                                                                 \
    void nnacl_##op##_f16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {     \
        run(ctx, params, in, out, nnacl_##op##_f32_c);                                                                 \
    }

UNARY(sigmoid)
UNARY(silu)
UNARY(tanh)
UNARY(gelu)
UNARY(elu)
