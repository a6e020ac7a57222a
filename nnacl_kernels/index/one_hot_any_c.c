/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index.h"
#include "index/position.h"

NNACL_DECLARE(nnacl_one_hot_any_c);

void nnacl_one_hot_any_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_one_hot_params *p = params;
    const ptrdiff_t size = p->element_size;
    const char *off = in[1], *on = (const char *)in[1] + size;
    char *y = out[0];
    (void)ctx;
    const ptrdiff_t count = (ptrdiff_t)p->outer * p->depth * p->inner;
    for (ptrdiff_t i = 0; i < count; i++) {
        nnacl_copy_element(y + i * size, off, p->element_size);
    }
    for (int32_t outer = 0; outer < p->outer; outer++) {
        for (int32_t inner = 0; inner < p->inner; inner++) {
            const int64_t index = nnacl_index_at(in[0], p->index_size, (ptrdiff_t)outer * p->inner + inner);
            const int32_t place = nnacl_position_inside(index, p->depth);
            if (place >= 0) {
                nnacl_copy_element(y + (((ptrdiff_t)outer * p->depth + place) * p->inner + inner) * size, on,
                                   p->element_size);
            }
        }
    }
}
