/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f16_fp16.h"
#include "pool/simd_pool_f16.h"

NNACL_DECLARE(nnacl_max_pool2d_f16_fp16);

void nnacl_max_pool2d_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    pool_f16(ctx, params, in, out, false, max_f16_of);
}
