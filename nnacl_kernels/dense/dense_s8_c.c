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
    const bool is_centred = p->w_zero == 0 && !w_zeros;
    int8_t *y = out[0];

    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0; row < p->rows; row++) {
        const int8_t *a = x + (ptrdiff_t)row * p->depth;
        for (int32_t unit = units.begin, count; unit < units.end; unit += count) {
            const int8_t *w = weights + (ptrdiff_t)unit * p->depth;
            uint32_t sums[NNACL_DOT_CHANNELS];
            count = is_centred && units.end - unit >= NNACL_DOT_CHANNELS ? NNACL_DOT_CHANNELS : 1;
            for (int32_t i = 0; i < count; i++) {
                sums[i] = bias ? (uint32_t)bias[unit + i] : 0;
            }
            if (count > 1) {
                nnacl_dot4_s8(sums, a, w, p->depth, p->depth, p->x_zero);
            } else {
                sums[0] = nnacl_dot_s8(sums[0], a, w, p->depth, p->x_zero, w_zeros ? w_zeros[unit] : p->w_zero);
            }
            for (int32_t i = 0; i < count; i++) {
                y[(ptrdiff_t)row * p->units + unit + i] = (int8_t)nnacl_requant_channel(
                    (int32_t)sums[i], requant, p->units, unit + i, p->rounding, p->y_zero, p->q_min, p->q_max);
            }
        }
    }
}
