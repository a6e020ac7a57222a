/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_dotprod.h"
#include "dense/dense_tiles_neon.h"

NNACL_DECLARE(nnacl_dense_s8_dotprod);

void nnacl_dense_s8_dotprod(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_dense_tiles_neon(ctx, params, in, out, NNACL_LAYOUT_DOTPROD, nnacl_rows_s8_dotprod);
}
