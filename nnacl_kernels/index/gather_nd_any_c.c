/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_gather_nd_any_c);

void nnacl_gather_nd_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_gather_nd_params *p = params;
    const size_t bytes = (size_t)p->block_bytes;
    const nnacl_range share = nnacl_share(ctx, p->batches * p->tuples);
    for (int32_t row = share.begin; row < share.end; row++) {
        ptrdiff_t block = row / p->tuples;
        for (int32_t i = 0; i < p->depth; i++) {
            const int64_t index = nnacl_index_at(in[1], p->index_size, (ptrdiff_t)row * p->depth + i);
            block = block * p->dims[i] + nnacl_position_clamped(index, p->dims[i]);
        }
        memcpy((char *)out[0] + (size_t)row * bytes, (const char *)in[0] + (size_t)block * bytes, bytes);
    }
}
