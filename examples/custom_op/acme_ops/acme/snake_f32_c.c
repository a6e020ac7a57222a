/* SPDX-License-Identifier: Apache-2.0 */
#include "acme/acme.h"
#include "common/float_math.h"

NNACL_DECLARE(acme_snake_f32_c);

void acme_snake_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const acme_snake_params *p = params;
    const float *x = in[0];
    const float *alpha = in[1];
    float *y = out[0];
    (void)ctx;
    for (int32_t row = 0; row < p->outer * p->channels; row++) {
        const float a = alpha[row % p->channels];
        for (int32_t i = 0; i < p->inner; i++) {
            const int32_t at = row * p->inner + i;
            const float s = nnacl_sinf(a * x[at]);
            y[at] = x[at] + s * s / a;
        }
    }
}
