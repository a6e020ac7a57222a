/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s16.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s16_c);

void nnacl_dense_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int16_t *x = in[0];
    const int8_t *weights = in[1];
    const int32_t *w_zeros = p->has_w_zeros ? in[4] : NULL;
    int16_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const int16_t *a = x + (ptrdiff_t)row * p->depth;
        for (int32_t unit = units.begin; unit < units.end; unit++) {
            const int8_t *w = weights + (ptrdiff_t)unit * p->depth;
            const int64_t start = nnacl_bias_s16(in[2], p->has_bias, unit);
            const int64_t sum = nnacl_dot_s16(start, a, w, p->depth, p->x_zero, w_zeros ? w_zeros[unit] : p->w_zero);
            y[(ptrdiff_t)row * p->units + unit] =
                nnacl_finish_s16(sum, p->has_bias, in[3], p->units, unit, p->rounding, p->y_zero, p->q_min, p->q_max);
        }
    }
}
