/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/conv2d_ordered_run.h"

NNACL_DECLARE(nnacl_conv2d_ordered_f32_c);

void nnacl_conv2d_ordered_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_conv2d_ordered_run(ctx, params, in, out);
}
