/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/conv_transpose_s8_run.h"

NNACL_DECLARE(nnacl_conv_transpose_s8_c);

NNACL_TRANSPOSED_SUMS(add_position, int8_t, int32_t, uint32_t)

void nnacl_conv_transpose_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_conv_transpose_s8(ctx, params, in, out, add_position, nnacl_transposed_finish_s8);
}
