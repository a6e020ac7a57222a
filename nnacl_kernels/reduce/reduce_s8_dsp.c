/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_dsp.h"
#include "reduce/reduce_columns_s8.h"

NNACL_DECLARE(nnacl_reduce_mean_s8_dsp);
NNACL_DECLARE(nnacl_reduce_sum_s8_dsp);

void nnacl_reduce_mean_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_columns_s8(ctx, params, in[0], out[0], NNACL_TAP_LANES_DSP, nnacl_sum_taps_dsp,
                            nnacl_reduce_end_s8_each);
}

void nnacl_reduce_sum_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_reduce_mean_s8_dsp(ctx, params, in, out);
}
