/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of pools over one to three spatial dimensions. */
#ifndef NNACL_POOL_WALK_H
#define NNACL_POOL_WALK_H

#include "common/share.h"
#include "common/window.h"
#include "volume/volume.h"

/* The window of one output position. */
typedef struct nnacl_pool_place {
    int32_t batch;
    int32_t at[3]; /* output position */
    nnacl_window along[3];
} nnacl_pool_place;

/* Output positions of one batch, depth and height: the shares of the work. */
static inline nnacl_range nnacl_pool_share(const nnacl_ctx *ctx, const nnacl_pool_nd_params *p) {
    return nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
}

static inline nnacl_pool_place nnacl_pool_place_at(const nnacl_pool_nd_params *p, int32_t row, int32_t column) {
    nnacl_pool_place place;
    place.batch = row / p->out_size[1] / p->out_size[0];
    place.at[0] = row / p->out_size[1] % p->out_size[0];
    place.at[1] = row % p->out_size[1];
    place.at[2] = column;
    for (int32_t i = 0; i < 3; i++) {
        place.along[i] =
            nnacl_window_at(place.at[i], p->stride[i], p->pad_before[i], p->dilation[i], p->window[i], p->in_size[i]);
    }
    return place;
}

/* How many positions of the window are in x. */
static inline int32_t nnacl_pool_taps(const nnacl_pool_place *place) {
    return (place->along[0].end - place->along[0].begin) * (place->along[1].end - place->along[1].begin) *
           (place->along[2].end - place->along[2].begin);
}

/* The spatial position in x, counted row by row, of tap `tap` of those that are in x. */
static inline int32_t nnacl_pool_source(const nnacl_pool_nd_params *p, const nnacl_pool_place *place, int32_t tap) {
    const int32_t wide = place->along[2].end - place->along[2].begin;
    const int32_t tall = place->along[1].end - place->along[1].begin;
    const int32_t x = place->along[2].origin + (place->along[2].begin + tap % wide) * p->dilation[2];
    const int32_t y = place->along[1].origin + (place->along[1].begin + tap / wide % tall) * p->dilation[1];
    const int32_t z = place->along[0].origin + (place->along[0].begin + tap / wide / tall) * p->dilation[0];
    return (z * p->in_size[1] + y) * p->in_size[2] + x;
}

/* Elements of one batch of x. */
static inline ptrdiff_t nnacl_pool_batch(const nnacl_pool_nd_params *p) {
    return (ptrdiff_t)p->in_size[0] * p->in_size[1] * p->in_size[2] * p->channels;
}

#endif
