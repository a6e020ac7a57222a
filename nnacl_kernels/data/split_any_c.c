/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/split.h"

NNACL_DECLARE(nnacl_split_any_c);
void nnacl_split_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_split_params *p = params;
    const size_t block = (size_t)p->dim * (size_t)p->inner_bytes;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    for (int32_t row = share.begin; row < share.end; row++) {
        const char *x = (const char *)in[0] + (size_t)row * block;
        for (int32_t i = 0; i < p->n_sizes; i++) {
            const size_t bytes = (size_t)nnacl_split_size(p, i) * (size_t)p->inner_bytes;
            if (bytes > 0) {
                memcpy((char *)out[i] + (size_t)row * bytes, x, bytes);
            }
            x += bytes;
        }
    }
}
