/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8.h"
#include "common/requant.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s8_c);

void nnacl_dense_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int8_t *x = in[0], *weights = in[1];
    const int32_t *bias = p->has_bias ? in[2] : NULL;
    const void *requant = in[3];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int8_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const int8_t *a = x + (ptrdiff_t)row * p->depth;
        for (int32_t unit = units.begin; unit < units.end; unit++) {
            const int8_t *w = weights + (ptrdiff_t)unit * p->depth;
            const uint32_t start = bias ? (uint32_t)bias[unit] : 0;
            const int32_t w_zero = w_zeros ? w_zeros[unit] : p->w_zero;
            const int32_t sum = (int32_t)nnacl_dot_s8(start, a, w, p->depth, p->x_zero, w_zero);
            y[(ptrdiff_t)row * p->units + unit] =
                (int8_t)nnacl_requant_channel(sum, requant, p->units, unit, p->rounding, p->y_zero, p->q_min, p->q_max);
        }
    }
}
