/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"
#include "common/multiply_s16_mve.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s16_mve);

/* Two rows and two units at a time, as far as there are two. */
void nnacl_dense_s16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const nnacl_ends_s16 ends = {in[2], in[3], p->has_bias, p->units, p->rounding, p->y_zero, p->q_min, p->q_max};
    const nnacl_range units = nnacl_share(ctx, p->units);
    for (int32_t row = 0, rows; row < p->rows; row += rows) {
        const int16_t *x = (const int16_t *)in[0] + (ptrdiff_t)row * p->depth;
        int16_t *y = (int16_t *)out[0] + (ptrdiff_t)row * p->units;
        rows = row + 1 < p->rows ? 2 : 1;
        for (int32_t unit = units.begin, count; unit < units.end; unit += count) {
            count = unit + 1 < units.end ? 2 : 1;
            int64_t sums[4];
            sums[0] = sums[2] = nnacl_bias_s16_dsp(&ends, unit);
            sums[1] = sums[3] = nnacl_bias_s16_dsp(&ends, unit + count - 1);
            const nnacl_multiply_s16_mve m = {
                .x = x,
                .second = x + (rows - 1) * p->depth,
                .weights = (const int8_t *)in[1] + (ptrdiff_t)unit * p->depth,
                .channel_step = (count - 1) * p->depth,
                .length = p->depth,
                .runs = 1,
                .sums = sums,
            };
            nnacl_multiply2x2_s16_mve(&m);
            for (int32_t i = 0; i < count; i++) {
                const int32_t factor = nnacl_factor_s16_dsp(&ends, unit + i);
                for (int32_t second = 0; second < rows; second++) {
                    y[second * p->units + unit + i] =
                        nnacl_finish_s16_dsp(&ends, factor, sums[2 * second + i], unit + i);
                }
            }
        }
    }
}
