/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/multiply_f32_mve.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f32_mve);

void nnacl_dense_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int32_t panels = (p->units + NNACL_PANEL_VFP - 1) / NNACL_PANEL_VFP;
    const nnacl_range share = nnacl_share(ctx, panels);
    const int32_t first = share.begin * NNACL_PANEL_VFP;
    const int32_t end = share.end < panels ? share.end * NNACL_PANEL_VFP : p->units;
    const float *x = in[0], *weights = in[1], *bias = p->has_bias ? in[2] : NULL;
    float *y = out[0];

    for (int32_t row = 0, count; row < p->rows && first < end; row += count) {
        const int32_t left = p->rows - row;
        count = left < NNACL_POSITIONS_MVE - 1 ? 1 : left < NNACL_POSITIONS_MVE ? left : NNACL_POSITIONS_MVE;
        nnacl_multiply_mve m = {
            .weights = weights + (ptrdiff_t)first * p->depth,
            .panel_step = p->depth * NNACL_PANEL_VFP * 4,
            .bias = bias ? bias + first : NULL,
            .channels = end - first,
            .length = p->depth,
            .runs = 1,
            .is_clamped = p->clamp_min > -INFINITY || p->clamp_max < INFINITY,
            .clamp_min = p->clamp_min,
            .clamp_max = p->clamp_max,
        };
        for (int32_t i = 0; i < NNACL_POSITIONS_MVE; i++) {
            const ptrdiff_t at = row + (i < count ? i : count - 1);
            m.x[i] = x + at * p->depth;
            m.y[i] = y + at * p->units + first;
        }
        if (count > 1) {
            nnacl_multiply4_f32_mve(&m);
        } else {
            nnacl_multiply1_f32_mve(&m);
        }
    }
}
