/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s16.h"
#include "common/share.h"
#include "volume/transposed_sums.h"

NNACL_DECLARE(nnacl_conv_transpose_s16_c);

NNACL_TRANSPOSED_SUMS(add_position, int16_t, int64_t, uint64_t)

void nnacl_conv_transpose_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv_nd_params *p = params;
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int64_t *sums = ctx->workspace;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            int16_t *pixel = (int16_t *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c;
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                sums[oc] = nnacl_bias_s16(in[2], p->has_bias, oc);
            }
            add_position(sums, in[0], in[1], w_zeros, nnacl_volume_row_at(p, row), column, p);
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                pixel[oc] = nnacl_finish_s16(sums[oc], p->has_bias, in[3], p->out_c, oc, p->rounding, p->y_zero,
                                             p->q_min, p->q_max);
            }
        }
    }
}
