/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_vnni.h"
#include "conv/simd_conv2d_quads.h"

NNACL_DECLARE(nnacl_conv2d_s8_vnni);

void nnacl_conv2d_s8_vnni(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    conv2d_quads(ctx, params, in, out);
}
