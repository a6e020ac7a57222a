/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "volume/volume.h"

NNACL_DECLARE(nnacl_max_unpool_any_c);

/* The place in y of the coordinates that `index` has in a tensor of shape `indexed`, or -1. */
static ptrdiff_t place_of(const nnacl_max_unpool_params *p, int64_t index) {
    ptrdiff_t place = 0, stride = 1;
    if (index < 0) {
        return -1;
    }
    for (int32_t i = p->rank - 1; i >= 0; i--) {
        if (p->indexed[i] == 0 || index % p->indexed[i] >= p->shape[i]) {
            return -1;
        }
        place += (ptrdiff_t)(index % p->indexed[i]) * stride;
        index /= p->indexed[i];
        stride *= p->shape[i];
    }
    return index == 0 ? place : -1;
}

void nnacl_max_unpool_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_max_unpool_params *p = params;
    const size_t size = (size_t)p->element_size;
    size_t bytes = size;
    (void)ctx;
    for (int32_t i = 0; i < p->rank; i++) {
        bytes *= (size_t)p->shape[i];
    }
    if (bytes == 0) {
        return;
    }
    memset(out[0], 0, bytes);
    for (int32_t i = 0; i < p->count; i++) {
        const ptrdiff_t place = place_of(p, ((const int64_t *)in[1])[i]);
        if (place >= 0) {
            memcpy((char *)out[0] + (size_t)place * size, (const char *)in[0] + (size_t)i * size, size);
        }
    }
}
