/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_f32_avx512.h"
#include "conv/conv_tiles_f32.h"

NNACL_DECLARE(nnacl_conv2d_f32_avx512);

void nnacl_conv2d_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_conv2d_tiles_f32(ctx, params, in, out, &nnacl_tiles_f32_avx512);
}
