/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_f32_avx512bf16.h"

#include "common/gemm_bfloat_avx512bf16.h"
#include "quant/simd_packed_bfloat.h"

void nnacl_packed_f32_avx512bf16(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    packed_bfloat(ctx, p, in, y);
}
