/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/share.h"
#include "image/resize_taps.h"

NNACL_DECLARE(nnacl_resize_any_c);

void nnacl_resize_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_resize_params *p = params;
    const nnacl_resize_tables tables = nnacl_resize_fill_tables(p, ctx->workspace);
    const int32_t last = p->rank - 1;
    const size_t element = (size_t)p->element_size, block = (size_t)p->block * element;
    const nnacl_range rows = nnacl_share(ctx, nnacl_resize_rows(p));
    for (int32_t row = rows.begin; row < rows.end; row++) {
        const nnacl_resize_row at = nnacl_resize_row_at(p, &tables, row);
        int32_t tap[NNACL_MAX_RANK];
        const bool outside = at.combinations == 0;
        const ptrdiff_t source = outside ? 0 : nnacl_resize_source(p, &tables, &at, 0, tap);
        const char *x = (const char *)in[0] + (size_t)source * (size_t)p->from[last] * block;
        char *y = (char *)out[0] + (size_t)row * (size_t)p->to[last] * block;
        for (int32_t o = 0; o < p->to[last]; o++, y += block) {
            const int32_t index = tables.index[last][o];
            if (!outside && index >= 0) {
                memcpy(y, x + (size_t)index * block, block);
                continue;
            }
            for (size_t i = 0; i < block; i += element) {
                memcpy(y + i, p->fill, element);
            }
        }
    }
}
