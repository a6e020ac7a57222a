/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_packed_mve.h"
#include "dense/dense_walk_mve.h"
#include "quant/packed_mve.h"

NNACL_DECLARE(nnacl_dense_compressed_s8_mve);

void nnacl_dense_compressed_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    const nnacl_dense_compressed_params *p = params;
    const bool has_four = NNACL_HAS_BITS(p->bits, 4);
    const nnacl_mve_dense layer = {NNACL_MVE_DENSE_SAME(p),
                                   .multiply = has_four ? nnacl_gemm1_s4_mve : nnacl_gemm1_s2_mve,
                                   .chunk_words = 2 * p->bits,
                                   .has_zero = true,
                                   .zero = nnacl_packed_offset(p->offset, p->step),
                                   .last = nnacl_packed_last_offset(p->bits, p->offset, p->step)};
    nnacl_mve_dense_walk(ctx, &layer, in[0], in[1], out[0]);
}
