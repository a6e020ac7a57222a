/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_bytes_neon.h"

NNACL_DECLARE(nnacl_conv2d_compressed_bytes_f32_neon);

void nnacl_conv2d_compressed_bytes_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                            void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    nnacl_packed_bytes_neon(ctx, &layer, in, out[0]);
}
