/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_bytes_avx512.h"

#include "common/gemm_f32_avx512.h"
#include "quant/packed_bytes_tiles.h"

void nnacl_packed_bytes_avx512(const nnacl_ctx *ctx, const nnacl_packed_layer *p, const void *const in[], float *y) {
    nnacl_packed_bytes(ctx, p, in, y, &nnacl_tiles_f32_avx512);
}
