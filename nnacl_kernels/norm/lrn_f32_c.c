/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/float_math.h"
#include "common/share.h"
#include "norm/norm.h"

/* base^-beta; the exponent of almost all models needs no logarithm. */
static inline float power(float base, float beta) {
    if (beta == 0.75f && base > 0.0f) {
        const float root = sqrtf(base);
        return 1.0f / (root * sqrtf(root));
    }
    return nnacl_powf(base, -beta);
}

NNACL_DECLARE(nnacl_lrn_f32_c);
void nnacl_lrn_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lrn_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)row * p->channels;
        float *y = (float *)out[0] + (ptrdiff_t)row * p->channels;
        for (int32_t c = 0; c < p->channels; c++) {
            const int32_t begin = c > p->before ? c - p->before : 0;
            const int32_t end = p->channels - c > p->after ? c + p->after + 1 : p->channels;
            float sum = 0.0f;
            for (int32_t i = begin; i < end; i++) {
                sum += x[i] * x[i];
            }
            y[c] = x[c] * power(p->bias + p->alpha * sum, p->beta);
        }
    }
}
