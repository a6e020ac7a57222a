/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/pool_walk.h"

NNACL_DECLARE(nnacl_avg_pool_nd_f32_c);

/* Positions of the window that count: those in x or, with count_include_pad, also those in the explicit padding. */
static int32_t divisor(const nnacl_pool_nd_params *p, const nnacl_pool_place *place) {
    if (!p->count_include_pad) {
        return nnacl_pool_taps(place);
    }
    int32_t count = 1;
    for (int32_t i = 0; i < 3; i++) {
        const nnacl_window window = nnacl_window_at(place->at[i], p->stride[i], 0, p->dilation[i], p->window[i],
                                                    p->pad_before[i] + p->in_size[i] + p->pad_after[i]);
        count *= window.end - window.begin;
    }
    return count;
}

void nnacl_avg_pool_nd_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool_nd_params *p = params;
    const nnacl_range rows = nnacl_pool_share(ctx, p);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            const nnacl_pool_place place = nnacl_pool_place_at(p, row, column);
            const float *image = (const float *)in[0] + place.batch * nnacl_pool_batch(p);
            float *restrict pixel = (float *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->channels;
            const int32_t taps = nnacl_pool_taps(&place), count = divisor(p, &place);
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = 0.0f;
            }
            for (int32_t tap = 0; tap < taps; tap++) {
                const float *restrict a = image + (ptrdiff_t)nnacl_pool_source(p, &place, tap) * p->channels;
                for (int32_t c = 0; c < p->channels; c++) {
                    pixel[c] += a[c];
                }
            }
            for (int32_t c = 0; c < p->channels; c++) {
                pixel[c] = count > 0 ? pixel[c] / (float)count : 0.0f;
            }
        }
    }
}
