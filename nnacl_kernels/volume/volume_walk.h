/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over one to three spatial dimensions. */
#ifndef NNACL_VOLUME_WALK_H
#define NNACL_VOLUME_WALK_H

#include "volume/volume.h"

/* Which input position meets kernel position `k` in output position `o` of a transposed convolution along axis `i`, or
 * -1 when there is none. */
static inline int32_t nnacl_transposed_source(const nnacl_conv_nd_params *p, int32_t i, int32_t o, int32_t k) {
    const int32_t distance = o + p->pad_before[i] - k * p->dilation[i];
    if (distance < 0 || distance % p->stride[i] != 0) {
        return -1;
    }
    const int32_t position = distance / p->stride[i];
    return position < p->in_size[i] ? position : -1;
}

/* An output row: the batch, and the position along depth and height. */
typedef struct nnacl_volume_row {
    int32_t batch, depth, height;
} nnacl_volume_row;

static inline nnacl_volume_row nnacl_volume_row_at(const nnacl_conv_nd_params *p, int32_t row) {
    const nnacl_volume_row at = {row / p->out_size[1] / p->out_size[0], row / p->out_size[1] % p->out_size[0],
                                 row % p->out_size[1]};
    return at;
}

/* The offset of an input position, in elements. */
static inline ptrdiff_t nnacl_volume_input(const nnacl_conv_nd_params *p, int32_t batch, int32_t z, int32_t y,
                                           int32_t x) {
    const ptrdiff_t plane = (ptrdiff_t)batch * p->in_size[0] + z;
    return ((plane * p->in_size[1] + y) * p->in_size[2] + x) * p->in_c;
}

/* The number of a kernel position. */
static inline ptrdiff_t nnacl_volume_tap(const nnacl_conv_nd_params *p, int32_t kz, int32_t ky, int32_t kx) {
    return ((ptrdiff_t)kz * p->kernel[1] + ky) * p->kernel[2] + kx;
}

#endif
