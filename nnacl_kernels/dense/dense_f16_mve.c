/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_f16_mve.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_f16_mve);

void nnacl_dense_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int32_t panels = nnacl_panel_count(p->units, NNACL_PANEL_F16_MVE);
    const nnacl_range share = nnacl_share(ctx, panels);
    const int32_t first = share.begin * NNACL_PANEL_F16_MVE;
    const int32_t end = share.end < panels ? share.end * NNACL_PANEL_F16_MVE : p->units;
    nnacl_multiply_f16 m = {
        .weights = (const uint16_t *)in[1] + (ptrdiff_t)first * p->depth,
        .panel_step = p->depth * NNACL_PANEL_F16_MVE,
        .bias = p->has_bias ? (const float *)in[2] + first : NULL,
        .channels = end - first,
        .length = p->depth,
        .runs = 1,
        .clamp_min = p->clamp_min,
        .clamp_max = p->clamp_max,
    };
    for (int32_t row = 0, count; row < p->rows && first < end; row += count) {
        const int32_t left = p->rows - row;
        count = left < NNACL_POSITIONS_F16 - 1 ? 1 : left < NNACL_POSITIONS_F16 ? left : NNACL_POSITIONS_F16;
        for (int32_t i = 0; i < NNACL_POSITIONS_F16; i++) {
            const ptrdiff_t at = row + (i < count ? i : count - 1);
            m.x[i] = (const uint16_t *)in[0] + at * p->depth;
            m.y[i] = (uint16_t *)out[0] + at * p->units + first;
        }
        if (count > 1) {
            nnacl_multiply4_f16_mve(&m);
        } else {
            nnacl_multiply1_f16_mve(&m);
        }
    }
}
