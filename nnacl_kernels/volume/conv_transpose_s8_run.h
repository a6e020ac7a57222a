/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of conv_transpose of s8: all but the sums of an output position and what becomes of them. */
#ifndef NNACL_CONV_TRANSPOSE_S8_RUN_H
#define NNACL_CONV_TRANSPOSE_S8_RUN_H

#include "common/requant.h"
#include "common/share.h"
#include "volume/transposed_sums.h"

/* Adds to the sums of an output position. */
typedef void (*nnacl_transposed_add_s8)(int32_t *sums, const int8_t *x, const int8_t *weights, const int32_t *w_zeros,
                                        nnacl_volume_row at, int32_t column, const nnacl_conv_nd_params *p);
/* Makes the output position of its sums. */
typedef void (*nnacl_transposed_end_s8)(const int32_t *sums, const void *requant, const nnacl_conv_nd_params *p,
                                        int8_t *pixel);

static inline void nnacl_transposed_finish_s8(const int32_t *sums, const void *requant, const nnacl_conv_nd_params *p,
                                              int8_t *pixel) {
    for (int32_t oc = 0; oc < p->out_c; oc++) {
        pixel[oc] =
            (int8_t)nnacl_requant_channel(sums[oc], requant, p->out_c, oc, p->rounding, p->y_zero, p->q_min, p->q_max);
    }
}

static inline void nnacl_run_conv_transpose_s8(const nnacl_ctx *ctx, const nnacl_conv_nd_params *p,
                                               const void *const in[], void *const out[],
                                               nnacl_transposed_add_s8 add_position, nnacl_transposed_end_s8 finish) {
    const int32_t *bias = p->has_bias ? in[2] : NULL, *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int32_t *sums = ctx->workspace;
    const nnacl_range rows = nnacl_share(ctx, p->batch * p->out_size[0] * p->out_size[1]);
    for (int32_t row = rows.begin; row < rows.end; row++) {
        for (int32_t column = 0; column < p->out_size[2]; column++) {
            for (int32_t oc = 0; oc < p->out_c; oc++) {
                sums[oc] = bias ? bias[oc] : 0;
            }
            add_position(sums, in[0], in[1], w_zeros, nnacl_volume_row_at(p, row), column, p);
            finish(sums, in[3], p, (int8_t *)out[0] + ((ptrdiff_t)row * p->out_size[2] + column) * p->out_c);
        }
    }
}

#endif
