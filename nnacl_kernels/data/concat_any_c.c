/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "data/data.h"

NNACL_DECLARE(nnacl_concat_any_c);
void nnacl_concat_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_concat_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->outer);
    size_t block = 0;
    for (int32_t i = 0; i < p->count; i++) {
        block += (size_t)p->bytes[i];
    }
    for (int32_t row = share.begin; row < share.end; row++) {
        char *y = (char *)out[0] + (size_t)row * block;
        for (int32_t i = 0; i < p->count; i++) {
            const size_t bytes = (size_t)p->bytes[i];
            memcpy(y, (const char *)in[i] + (size_t)row * bytes, bytes);
            y += bytes;
        }
    }
}
