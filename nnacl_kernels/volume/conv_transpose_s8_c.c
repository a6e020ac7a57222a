/* SPDX-License-Identifier: Apache-2.0 */
#include "common/requant.h"
#include "common/share.h"
#include "volume/transposed_sums.h"

NNACL_DECLARE(nnacl_conv_transpose_s8_c);

NNACL_TRANSPOSED_SUMS(add_position, int8_t, int32_t, uint32_t)

void nnacl_conv_transpose_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const int32_t *bias = p->has_bias ? in[2] : NULL, *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int32_t *sums = ctx->workspace;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            int8_t *pixel = (int8_t *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                sums[oc] = bias ? bias[oc] : 0;
            }
            add_position(sums, in[0], in[1], w_zeros, nnacl_volume_row_at(p, row), column, p);
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = (int8_t)nnacl_requant_channel(sums[oc], in[3], p->out_c, oc, p->rounding, p->y_zero,
                                                          p->q_min, p->q_max);
            }
        }
    }
}
