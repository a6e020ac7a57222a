/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/matmul_ordered_run.h"

NNACL_DECLARE(nnacl_matmul_ordered_f32_c);

void nnacl_matmul_ordered_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_matmul_ordered_run(ctx, params, in, out);
}
