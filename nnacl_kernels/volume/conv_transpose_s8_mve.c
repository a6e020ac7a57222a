/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_mve.h"
#include "common/requant_sums_mve.h"
#include "volume/conv_transpose_s8_run.h"

NNACL_DECLARE(nnacl_conv_transpose_s8_mve);

static inline void add_position_tap(int32_t *sums, const int8_t *x, const int8_t *weights, const int32_t *w_zeros,
                                    const nnacl_conv_nd_params *p) {
    (void)w_zeros;
    nnacl_columns_s8_mve(x, p->x_zero, p->in_c, weights, p->out_c, p->out_c, sums);
}

NNACL_TRANSPOSED_WALK(add_position, int8_t, int32_t)

static void finish(const int32_t *sums, const void *requant, const nnacl_conv_nd_params *p, int8_t *pixel) {
    nnacl_requant_channels_mve(sums, requant, p->out_c, p->rounding, p->y_zero, p->q_min, p->q_max, pixel);
}

void nnacl_conv_transpose_s8_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_run_conv_transpose_s8(ctx, params, in, out, add_position, finish);
}
