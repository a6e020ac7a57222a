/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_avx2.h"
#include "conv/conv_few_f32_avx2.h"

NNACL_DECLARE(nnacl_conv2d_few_f32_avx2);

void nnacl_conv2d_few_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    conv_few(ctx, params, in, out);
}
