/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_packed_mve.h"
#include "conv/conv_walk_mve.h"
#include "quant/packed_mve.h"

NNACL_DECLARE(nnacl_conv2d_compressed_s8_mve);

void nnacl_conv2d_compressed_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                    void *const out[]) {
    const nnacl_conv2d_compressed_params *p = params;
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    const bool has_four = NNACL_HAS_BITS(p->bits, 4);
    const nnacl_mve_products how = {.multiply = has_four ? nnacl_gemm2_s4_mve : nnacl_gemm2_s2_mve,
                                    .chunk_words = 2 * p->bits,
                                    .has_zero = true,
                                    .zero = nnacl_packed_offset(p->offset, p->step),
                                    .last = nnacl_packed_last_offset(p->bits, p->offset, p->step)};
    nnacl_mve_walk(ctx, &conv, in[0], in[1], out[0], &how);
}
