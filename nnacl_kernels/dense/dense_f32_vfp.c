/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/multiply_f32_vfp.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f32_vfp);

void nnacl_dense_f32_vfp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    const int32_t rounded = (p->units + NNACL_PANEL_VFP - 1) / NNACL_PANEL_VFP;
    float *y = out[0];
    float sums[2 * NNACL_PANEL_VFP];

    const nnacl_range groups = nnacl_share(ctx, rounded);
    for (int32_t row = 0, count; row < p->rows; row += count) {
        count = row + 1 < p->rows ? 2 : 1;
        nnacl_multiply_vfp m = {.a = x + (ptrdiff_t)row * p->depth, .length = p->depth, .runs = 1, .sums = sums};
        m.b = m.a + p->depth;
        for (int32_t group = groups.begin; group < groups.end; group++) {
            const int32_t unit = group * NNACL_PANEL_VFP;
            const int32_t columns = p->units - unit < NNACL_PANEL_VFP ? p->units - unit : NNACL_PANEL_VFP;
            for (int32_t i = 0; i < NNACL_PANEL_VFP; i++) {
                sums[i] = sums[NNACL_PANEL_VFP + i] = bias && i < columns ? bias[unit + i] : 0.0f;
            }
            m.weights = weights + (ptrdiff_t)unit * p->depth;
            if (count == 2) {
                nnacl_multiply4x2_f32_vfp(&m);
            } else {
                nnacl_multiply4x1_f32_vfp(&m);
            }
            for (int32_t i = 0; i < count; i++) {
                for (int32_t c = 0; c < columns; c++) {
                    y[(ptrdiff_t)(row + i) * p->units + unit + c] =
                        nnacl_clamp_f32(sums[i * NNACL_PANEL_VFP + c], p->clamp_min, p->clamp_max);
                }
            }
        }
    }
}
