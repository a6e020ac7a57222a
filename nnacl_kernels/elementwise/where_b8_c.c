/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_where_b8_c);
void nnacl_where_b8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_where_params *p = params;
    const size_t size = (size_t)p->element_size;
    const ptrdiff_t condition_step = p->condition_strides[p->rank - 1];
    const ptrdiff_t a_step = p->a_strides[p->rank - 1];
    const ptrdiff_t b_step = p->b_strides[p->rank - 1];
    const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);
    for (int32_t row = walk.row; row < walk.last_row; row++) {
        const uint8_t *condition =
            (const uint8_t *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->condition_strides);
        const ptrdiff_t a = nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);
        const ptrdiff_t b = nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);
        char *y = (char *)out[0] + (size_t)row * (size_t)walk.width * size;
        for (int32_t i = walk.begin; i < walk.end; i++) {
            const char *chosen = condition[i * condition_step]
                                     ? (const char *)in[1] + (a + i * a_step) * (ptrdiff_t)size
                                     : (const char *)in[2] + (b + i * b_step) * (ptrdiff_t)size;
            memcpy(y + (size_t)i * size, chosen, size);
        }
    }
}
