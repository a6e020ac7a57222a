/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the updates of a scatter. */
#ifndef NNACL_SCATTER_H
#define NNACL_SCATTER_H

#include "index/index.h"
#include "index/position.h"

/* Brings `count` updates together with the elements of y; `how` is what the function of a kernel makes of it. */
typedef void (*nnacl_combine_fn)(void *y, const void *update, int32_t count, int32_t how);

/* y becomes x, unless it is x already. */
static inline void nnacl_scatter_start(void *y, const void *x, int32_t count, int32_t element_size) {
    if (y != x && count > 0) {
        memcpy(y, x, (size_t)count * (size_t)element_size);
    }
}

static inline void nnacl_scatter_elements(const nnacl_scatter_elements_params *p, const void *const in[], char *y,
                                          nnacl_combine_fn combine, int32_t how) {
    const nnacl_index_rows rows = nnacl_index_rows_of(p->rank, p->dims, p->x_dims, p->axis);
    const char *updates = in[2];
    nnacl_scatter_start(y, in[0], p->count, p->element_size);
    for (int32_t row = 0; rows.length > 0 && row < rows.count; row++) {
        const ptrdiff_t base = nnacl_index_row_base(row, p->rank, p->dims, p->x_dims, p->axis);
        const ptrdiff_t first = (ptrdiff_t)row * rows.length;
        for (int32_t i = 0; i < rows.length; i++) {
            const int64_t index = nnacl_index_at(in[1], p->index_size, first + i);
            const ptrdiff_t place = nnacl_position_inside(index, rows.axis_size);
            const ptrdiff_t to = base + place * rows.axis_stride + (ptrdiff_t)i * rows.step;
            if (place >= 0) {
                combine(y + to * p->element_size, updates + (first + i) * p->element_size, 1, how);
            }
        }
    }
}

/* The block of x that a tuple of indices means, or -1 when one is out of range. */
static inline ptrdiff_t nnacl_scatter_block(const nnacl_scatter_nd_params *p, const void *indices, int32_t tuple) {
    ptrdiff_t block = 0;
    for (int32_t i = 0; i < p->depth; i++) {
        const int64_t index = nnacl_index_at(indices, p->index_size, (ptrdiff_t)tuple * p->depth + i);
        const int32_t place = nnacl_position_inside(index, p->dims[i]);
        if (place < 0) {
            return -1;
        }
        block = block * p->dims[i] + place;
    }
    return block;
}

static inline void nnacl_scatter_nd(const nnacl_scatter_nd_params *p, const void *const in[], char *y,
                                    nnacl_combine_fn combine, int32_t how) {
    const ptrdiff_t bytes = (ptrdiff_t)p->block * p->element_size;
    const char *updates = in[2];
    nnacl_scatter_start(y, in[0], p->count, p->element_size);
    for (int32_t tuple = 0; bytes > 0 && tuple < p->tuples; tuple++) {
        const ptrdiff_t block = nnacl_scatter_block(p, in[1], tuple);
        if (block >= 0) {
            combine(y + block * bytes, updates + tuple * bytes, p->block, how);
        }
    }
}

#endif
