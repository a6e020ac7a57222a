/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_gather_elements_any_c);

void nnacl_gather_elements_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_gather_elements_params *p = params;
    const ptrdiff_t size = p->element_size;
    const nnacl_index_rows rows = nnacl_index_rows_of(p->rank, p->dims, p->x_dims, p->axis);
    const nnacl_range share = nnacl_share(ctx, rows.length > 0 ? rows.count : 0);
    for (int32_t row = share.begin; row < share.end; row++) {
        const ptrdiff_t base = nnacl_index_row_base(row, p->rank, p->dims, p->x_dims, p->axis);
        const ptrdiff_t first = (ptrdiff_t)row * rows.length;
        for (int32_t i = 0; i < rows.length; i++) {
            const int64_t index = nnacl_index_at(in[1], p->index_size, first + i);
            const ptrdiff_t place = nnacl_position_clamped(index, rows.axis_size);
            const ptrdiff_t from = base + place * rows.axis_stride + (ptrdiff_t)i * rows.step;
            nnacl_copy_element((char *)out[0] + (first + i) * size, (const char *)in[0] + from * size, p->element_size);
        }
    }
}
