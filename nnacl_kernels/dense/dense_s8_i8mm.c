/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_i8mm.h"
#include "dense/dense_tiles_neon.h"

NNACL_DECLARE(nnacl_dense_s8_i8mm);

void nnacl_dense_s8_i8mm(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_dense_tiles_neon(ctx, params, in, out, NNACL_LAYOUT_I8MM, nnacl_rows_s8_i8mm);
}
