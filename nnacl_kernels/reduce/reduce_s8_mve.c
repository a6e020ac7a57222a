/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_mve.h"
#include "reduce/reduce_columns_s8.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_mve);
NNACL_DECLARE(nnacl_reduce_sum_s8_mve);

void nnacl_reduce_mean_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_columns_s8(ctx, params, in[0], out[0], NNACL_TAP_LANES, nnacl_sum_taps_mve);
}

void nnacl_reduce_sum_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_mean_s8_mve(ctx, params, in, out);
}
