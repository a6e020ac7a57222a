/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/packed_s8_dsp.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_dsp);

void nnacl_conv2d_compressed_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    nnacl_packed_s8_dsp(ctx, &layer, in, out[0]);
}
