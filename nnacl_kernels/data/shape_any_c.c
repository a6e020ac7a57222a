/* SPDX-License-Identifier: Apache-2.0 */
#include "data/data.h"

static void write_one(void *y, int32_t index, int32_t value, int32_t to) {
    if (to == NNACL_S32) {
        ((int32_t *)y)[index] = value;
    } else {
        ((int64_t *)y)[index] = value;
    }
}

NNACL_DECLARE(nnacl_shape_any_c);
void nnacl_shape_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_shape_params *p = params;
    (void)in;
    for (int32_t i = 0; i < p->count && ctx->part == 0; i++) {
        write_one(out[0], i, p->dims[i], p->to);
    }
}

NNACL_DECLARE(nnacl_size_any_c);
void nnacl_size_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_size_params *p = params;
    (void)in;
    if (ctx->part == 0) {
        write_one(out[0], 0, p->count, p->to);
    }
}
