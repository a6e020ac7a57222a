/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f16_fp16.h"
#include "reduce/simd_reduce_mean_f16.h"

NNACL_DECLARE(nnacl_reduce_mean_f16_fp16);

void nnacl_reduce_mean_f16_fp16(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    reduce_mean_f16(ctx, params, in, out);
}
