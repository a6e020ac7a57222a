/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f32_avx2.h"
#include "reduce/simd_reduce_mean_f32.h"

NNACL_DECLARE(nnacl_reduce_mean_f32_avx2);
void nnacl_reduce_mean_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    reduce_mean(ctx, params, in, out);
}
