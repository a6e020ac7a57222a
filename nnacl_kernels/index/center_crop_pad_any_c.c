/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "index/index.h"

NNACL_DECLARE(nnacl_center_crop_pad_any_c);

void nnacl_center_crop_pad_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_center_crop_pad_params *p = params;
    const size_t bytes = (size_t)p->block_bytes;
    int32_t blocks = 1;
    (void)ctx;
    for (int32_t i = 0; i < p->rank; i++) {
        blocks *= p->dims[i];
    }
    for (int32_t block = 0; block < blocks && bytes > 0; block++) {
        ptrdiff_t from = 0, stride = 1;
        int32_t rest = block;
        bool inside = true;
        for (int32_t i = p->rank - 1; i >= 0; i--) {
            const int32_t dim = p->dims[i], x_dim = p->x_dims[i];
            const int32_t place = rest % dim + (x_dim > dim ? (x_dim - dim) / 2 : -((dim - x_dim) / 2));
            inside = inside && place >= 0 && place < x_dim;
            from += place * stride;
            stride *= x_dim;
            rest /= dim;
        }
        if (inside) {
            memcpy((char *)out[0] + (size_t)block * bytes, (const char *)in[0] + (size_t)from * bytes, bytes);
        } else {
            memset((char *)out[0] + (size_t)block * bytes, 0, bytes);
        }
    }
}
