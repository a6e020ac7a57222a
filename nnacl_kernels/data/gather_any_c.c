/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/data.h"

static int32_t pick(const void *indices, int32_t index_size, int32_t i, int32_t axis_size) {
    int64_t index = index_size == 8 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    if (index < 0) {
        index += axis_size;
    }
    return index < 0 ? 0 : index >= axis_size ? axis_size - 1 : (int32_t)index;
}

NNACL_DECLARE(nnacl_gather_any_c);
void nnacl_gather_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_gather_params *p = params;
    const size_t inner = (size_t)p->inner_bytes;
    const int32_t rows = p->outer * p->indices;
    const nnacl_range share = nnacl_share(ctx, rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const int32_t outer = row / p->indices;
        const int32_t index = pick(in[1], p->index_size, row % p->indices, p->axis_size);
        const char *x = (const char *)in[0] + ((size_t)outer * (size_t)p->axis_size + (size_t)index) * inner;
        memcpy((char *)out[0] + (size_t)row * inner, x, inner);
    }
}
