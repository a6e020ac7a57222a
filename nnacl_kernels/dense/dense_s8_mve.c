/* SPDX-License-Identifier: Apache-2.0 */
#include "dense/dense_walk_mve.h"

NNACL_DECLARE(nnacl_dense_s8_mve);

void nnacl_dense_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const bool has_zero = NNACL_NEEDS_W_ZERO && p->w_zero != 0;
    const nnacl_mve_dense layer = {NNACL_MVE_DENSE_SAME(p),
                                   .multiply = has_zero ? nnacl_gemm1_zero_s8_mve : nnacl_gemm1_s8_mve,
                                   .chunk_words = 16, .has_zero = has_zero, .zero = has_zero ? -p->w_zero : 0};
    nnacl_mve_dense_walk(ctx, &layer, in[0], in[1], out[0]);
}
