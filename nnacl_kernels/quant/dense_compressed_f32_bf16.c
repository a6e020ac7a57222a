/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_f32_bf16.h"

NNACL_DECLARE(nnacl_dense_compressed_f32_bf16);

void nnacl_dense_compressed_f32_bf16(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_dense(params);
    nnacl_packed_f32_bf16(ctx, &layer, in, out[0]);
}
