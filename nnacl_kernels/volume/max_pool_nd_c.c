/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "volume/pool_walk.h"

/* The index of channel `c` of a spatial position, as the output `indices` has it. */
static int64_t index_of(const nnacl_pool_nd_params *p, int32_t batch, int32_t c, int32_t position) {
    const int32_t *size = p->in_size;
    const int64_t plane = (int64_t)batch * p->channels + c;
    if (p->column_major) {
        const int32_t x = position % size[2], y = position / size[2] % size[1], z = position / size[2] / size[1];
        position = (x * size[1] + y) * size[0] + z;
    }
    return plane * size[0] * size[1] * size[2] + position;
}

#define MAX_POOL(dtype, type, lowest)                                                                                  \
    static void pool_##dtype(const nnacl_pool_nd_params *p, const type *image, const nnacl_pool_place *place,          \
                             type *restrict pixel, int64_t *restrict indices) {                                        \
        const int32_t taps = nnacl_pool_taps(place);                                                                   \
        for (int32_t c = 0; c < p->channels; c++) {                                                                    \
            pixel[c] = lowest;                                                                                         \
        }                                                                                                              \
        for (int32_t c = 0; indices && c < p->channels; c++) {                                                         \
            indices[c] = taps > 0 ? index_of(p, place->batch, c, nnacl_pool_source(p, place, 0)) : 0;                  \
        }                                                                                                              \
        for (int32_t tap = 0; tap < taps; tap++) {                                                                     \
            const int32_t position = nnacl_pool_source(p, place, tap);                                                 \
            const type *restrict a = image + (ptrdiff_t)position * p->channels;                                        \
            for (int32_t c = 0; c < p->channels; c++) {                                                                \
                if (indices && a[c] > pixel[c]) {                                                                      \
                    indices[c] = index_of(p, place->batch, c, position);                                               \
                }                                                                                                      \
                pixel[c] = a[c] > pixel[c] ? a[c] : pixel[c];                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_DECLARE(nnacl_max_pool_nd_##dtype##_c);                                                                      \
    void nnacl_max_pool_nd_##dtype##_c(const nnacl_ctx *ctx, const void *params, const void *const in[],               \
                                       void *const out[]) {                                                            \
        const nnacl_pool_nd_params *p = params;                                                                        \
        const nnacl_range rows = nnacl_pool_share(ctx, p);                                                             \
        for (int32_t row = rows.begin; row < rows.end; row++) {                                                        \
            for (int32_t column = 0; column < p->out_size[2]; column++) {                                              \
                const nnacl_pool_place place = nnacl_pool_place_at(p, row, column);                                    \
                const type *image = (const type *)in[0] + place.batch * nnacl_pool_batch(p);                           \
                const ptrdiff_t to = ((ptrdiff_t)row * p->out_size[2] + column) * p->channels;                         \
                pool_##dtype(p, image, &place, (type *)out[0] + to, p->with_indices ? (int64_t *)out[1] + to : NULL);  \
            }                                                                                                          \
        }                                                                                                              \
    }

MAX_POOL(f32, float, -INFINITY)
MAX_POOL(s8, int8_t, -128)
MAX_POOL(u8, uint8_t, 0)
