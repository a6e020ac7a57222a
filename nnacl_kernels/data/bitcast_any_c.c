/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "data/data.h"

/* Runs only where input and output do not share memory. */
NNACL_DECLARE(nnacl_bitcast_any_c);
void nnacl_bitcast_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_bitcast_params *p = params;
    if (ctx->part == 0 && in[0] != out[0]) {
        memcpy(out[0], in[0], (size_t)p->bytes);
    }
}
