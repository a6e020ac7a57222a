/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/ordered_sums_avx2.h"
#define NNACL_ORDERED_SUMS nnacl_ordered_sums_avx2
#include "ordered/conv2d_ordered_run.h"

NNACL_DECLARE(nnacl_conv2d_ordered_f32_avx2);

void nnacl_conv2d_ordered_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    nnacl_conv2d_ordered_run(ctx, params, in, out);
}
