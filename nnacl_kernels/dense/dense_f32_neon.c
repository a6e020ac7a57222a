/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_neon.h"
#include "dense/dense_tiles_f32.h"

NNACL_DECLARE(nnacl_dense_f32_neon);

void nnacl_dense_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_dense_tiles_f32(ctx, params, in, out, &nnacl_tiles_f32_neon);
}
