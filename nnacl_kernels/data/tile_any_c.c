/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_tile_any_c);
void nnacl_tile_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_tile_params *p = params;
    const int32_t last = p->rank - 1;
    if (last < 0) {
        return;
    }
    const size_t bytes = (size_t)p->dims[last];
    const int32_t times = p->times[last];
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= p->dims[i] * p->times[i];
    }
    const nnacl_range share = nnacl_share(ctx, rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        size_t x_row = 0;
        size_t stride = 1;
        int32_t rest = row;
        for (int32_t i = last - 1; i >= 0; i--) {
            const int32_t size = p->dims[i] * p->times[i];
            x_row += (size_t)(rest % size % p->dims[i]) * stride;
            stride *= (size_t)p->dims[i];
            rest /= size;
        }
        char *y = (char *)out[0] + (size_t)row * bytes * (size_t)times;
        for (int32_t i = 0; i < times; i++) {
            memcpy(y + (size_t)i * bytes, (const char *)in[0] + x_row * bytes, bytes);
        }
    }
}
