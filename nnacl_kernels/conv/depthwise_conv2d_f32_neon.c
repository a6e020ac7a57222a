/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_neon.h"
#include "conv/depthwise_f32_avx2.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_f32_neon);

void nnacl_depthwise_conv2d_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    depthwise(ctx, params, in, out);
}
