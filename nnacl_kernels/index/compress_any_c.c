/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "index/index.h"

NNACL_DECLARE(nnacl_compress_any_c);

void nnacl_compress_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_compress_params *p = params;
    const uint8_t *condition = in[1];
    const size_t bytes = (size_t)p->block_bytes;
    (void)ctx;
    for (int32_t outer = 0; outer < p->outer && bytes > 0; outer++) {
        const char *x = (const char *)in[0] + (size_t)outer * (size_t)p->size * bytes;
        char *y = (char *)out[0] + (size_t)outer * (size_t)p->count * bytes;
        for (int32_t i = 0, taken = 0; i < p->entries && taken < p->count; i++) {
            if (condition[i]) {
                memcpy(y + (size_t)taken * bytes, x + (size_t)i * bytes, bytes);
                taken++;
            }
        }
    }
}
