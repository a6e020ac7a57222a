/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_vnni.h"
#include "dense/simd_matmul_quads.h"

NNACL_DECLARE(nnacl_matmul_s8_vnni);

void nnacl_matmul_s8_vnni(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    matmul_quads(ctx, params, in, out);
}
