/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

NNACL_DECLARE(nnacl_affine_grid_f32_c);

/* Position `i` of `size` in -1 .. 1. */
static float normal(int32_t i, int32_t size, int32_t align_corners) {
    if (align_corners) {
        return size > 1 ? -1.0f + 2.0f * (float)i / (float)(size - 1) : 0.0f;
    }
    return (2.0f * (float)i + 1.0f) / (float)size - 1.0f;
}

void nnacl_affine_grid_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_affine_grid_params *p = params;
    const int32_t spatial = p->spatial, *size = p->size + 2;
    float *y = out[0];
    int32_t places = 1;
    (void)ctx;
    for (int32_t i = 0; i < spatial; i++) {
        places = size[i] == 0 ? 0 : places * size[i];
    }
    for (int32_t batch = 0; batch < p->size[0]; batch++) {
        const float *theta = (const float *)in[0] + (ptrdiff_t)batch * spatial * (spatial + 1);
        for (int32_t place = 0; place < places; place++) {
            /* Width first. */
            float at[3];
            int32_t rest = place;
            for (int32_t i = 0; i < spatial; i++) {
                const int32_t dim = size[spatial - 1 - i];
                at[i] = normal(rest % dim, dim, p->align_corners);
                rest /= dim;
            }
            for (int32_t k = 0; k < spatial; k++) {
                const float *row = theta + k * (spatial + 1);
                float sum = row[spatial];
                for (int32_t i = 0; i < spatial; i++) {
                    sum += row[i] * at[i];
                }
                *y++ = sum;
            }
        }
    }
}
