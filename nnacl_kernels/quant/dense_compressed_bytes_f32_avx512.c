/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_bytes_avx512.h"

NNACL_DECLARE(nnacl_dense_compressed_bytes_f32_avx512);

void nnacl_dense_compressed_bytes_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                             void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_dense(params);
    nnacl_packed_bytes_avx512(ctx, &layer, in, out[0]);
}
