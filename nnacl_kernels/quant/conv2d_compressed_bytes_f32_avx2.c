/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_bytes_avx2.h"

NNACL_DECLARE(nnacl_conv2d_compressed_bytes_f32_avx2);

void nnacl_conv2d_compressed_bytes_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    nnacl_packed_bytes_avx2(ctx, &layer, in, out[0]);
}
