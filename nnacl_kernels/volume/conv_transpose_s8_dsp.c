/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_dsp.h"
#include "volume/conv_transpose_s8_run.h"

NNACL_DECLARE(nnacl_conv_transpose_s8_dsp);

static inline void add_position_tap(int32_t *sums, const int8_t *x, const int8_t *weights, const int32_t *w_zeros,
                                    const nnacl_conv_nd_params *p) {
    (void)w_zeros;
    nnacl_columns_s8_dsp(x, p->x_zero, p->in_c, weights, p->out_c, p->out_c, sums);
}

NNACL_TRANSPOSED_WALK(add_position, int8_t, int32_t)

void nnacl_conv_transpose_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_conv_transpose_s8(ctx, params, in, out, add_position, nnacl_transposed_finish_s8);
}
