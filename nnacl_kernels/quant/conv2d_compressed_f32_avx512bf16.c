/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_f32_avx512bf16.h"

NNACL_DECLARE(nnacl_conv2d_compressed_f32_avx512bf16);

void nnacl_conv2d_compressed_f32_avx512bf16(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    nnacl_packed_f32_avx512bf16(ctx, &layer, in, out[0]);
}
