/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/image.h"

NNACL_DECLARE(nnacl_col2im_f32_c);

/* The element of a plane of y that a tap meets at a position of the window, or -1 in the padding. */
static ptrdiff_t place_of(const nnacl_col2im_params *p, int32_t tap, int32_t position) {
    ptrdiff_t place = 0, stride = 1;
    for (int32_t i = 2; i >= 0; i--) {
        const int32_t at =
            position % p->positions[i] * p->stride[i] + tap % p->kernel[i] * p->dilation[i] - p->pad_before[i];
        if (at < 0 || at >= p->size[i]) {
            return -1;
        }
        place += at * stride;
        stride *= p->size[i];
        position /= p->positions[i];
        tap /= p->kernel[i];
    }
    return place;
}

void nnacl_col2im_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_col2im_params *p = params;
    const int32_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    const int32_t positions = p->positions[0] * p->positions[1] * p->positions[2];
    const ptrdiff_t size = (ptrdiff_t)p->size[0] * p->size[1] * p->size[2];
    const nnacl_range planes = nnacl_share(ctx, p->planes);
    for (int32_t plane = planes.begin; plane < planes.end; plane++) {
        const float *x = (const float *)in[0] + (ptrdiff_t)plane * taps * positions;
        float *y = (float *)out[0] + plane * size;
        for (ptrdiff_t i = 0; i < size; i++) {
            y[i] = 0.0f;
        }
        for (int32_t tap = 0; tap < taps; tap++) {
            for (int32_t position = 0; position < positions; position++) {
                const ptrdiff_t place = place_of(p, tap, position);
                if (place >= 0) {
                    y[place] += x[(ptrdiff_t)tap * positions + position];
                }
            }
        }
    }
}
