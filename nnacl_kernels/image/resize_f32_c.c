/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "image/resize_taps.h"

NNACL_DECLARE(nnacl_resize_f32_c);

/* Adds a row of x, times `factor`, as the last dimension samples it. */
static void add_row(const nnacl_resize_params *p, const int32_t *index, const float *weight, float factor,
                    const float *restrict x, float *restrict y) {
    const int32_t last = p->rank - 1, taps = p->taps[last], block = p->block;
    for (int32_t o = 0; o < p->to[last]; o++) {
        const int32_t first = o * taps;
        for (int32_t t = first; t < first + taps && index[first] >= 0; t++) {
            const float w = factor * weight[t];
            const float *restrict a = x + (ptrdiff_t)index[t] * block;
            for (int32_t c = 0; c < block; c++) {
                y[c] += w * a[c];
            }
        }
        y += block;
    }
}

void nnacl_resize_f32_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_resize_params *p = params;
    const nnacl_resize_tables tables = nnacl_resize_fill_tables(p, ctx->workspace);
    const int32_t last = p->rank - 1;
    const ptrdiff_t x_row = (ptrdiff_t)p->from[last] * p->block, y_row = (ptrdiff_t)p->to[last] * p->block;
    const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const nnacl_resize_row at = nnacl_resize_row_at(p, &tables, row);
        float *y = (float *)out[0] + row * y_row;
        for (ptrdiff_t i = 0; i < y_row; i++) {
            const bool outside = at.combinations == 0 || tables.index[last][i / p->block * p->taps[last]] < 0;
            y[i] = outside ? p->extrapolation : 0.0f;
        }
        for (int32_t combination = 0; combination < at.combinations; combination++) {
            int32_t tap[NNACL_MAX_RANK];
            const ptrdiff_t source = nnacl_resize_source(p, &tables, &at, combination, tap);
            float factor = 1.0f;
            for (int32_t i = 0; i < last; i++) {
                factor *= ((const float *)tables.weight[i])[tap[i]];
            }
            add_row(p, tables.index[last], tables.weight[last], factor, (const float *)in[0] + source * x_row, y);
        }
    }
}
