/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vector_f16_mve.h"
#include "reduce/simd_reduce_mean_f16.h"

NNACL_DECLARE(nnacl_reduce_mean_f16_mve);

void nnacl_reduce_mean_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    reduce_mean_f16(ctx, params, in, out);
}
