/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/float_math.h"
#include "volume/pool_walk.h"

NNACL_DECLARE(nnacl_lp_pool_f32_c);

/* |value|^p */
static float power(float value, int32_t p) {
    const float magnitude = fabsf(value);
    return p == 1 ? magnitude : p == 2 ? magnitude * magnitude : nnacl_powf(magnitude, (float)p);
}

/* sum^(1/p) */
static float root(float sum, int32_t p) {
    return p == 1 ? sum : p == 2 ? sqrtf(sum) : nnacl_powf(sum, 1.0f / (float)p);
}

void nnacl_lp_pool_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool_nd_params *p = params;
    const nnacl_range rows = nnacl_pool_share(ctx, p);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            const nnacl_pool_place place = nnacl_pool_place_at(p, row, column);
            const float *image = (const float *)in[0] + place.batch * nnacl_pool_batch(p);
            float *restrict pixel = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->channels;
            const int32_t taps = nnacl_pool_taps(&place);
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = 0.0f;
            }
            for (int32_t tap = 0; tap < taps; tap++) {
                const float *restrict a = image + (ptrdiff_t)nnacl_pool_source(p, &place, tap) * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    pixel[c] += power(a[c], p->p);
                }
            }
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = root(pixel[c], p->p);
            }
        }
    }
}
