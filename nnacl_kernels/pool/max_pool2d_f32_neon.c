/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_neon.h"
#include "pool/simd_max_pool_f32.h"

NNACL_DECLARE(nnacl_max_pool2d_f32_neon);
void nnacl_max_pool2d_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    max_pool(ctx, params, in, out);
}
