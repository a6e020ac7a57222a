/* SPDX-License-Identifier: Apache-2.0 */
/* Indices as inputs hold them: s32 or s64, negative ones counted from the end. */
#ifndef NNACL_POSITION_H
#define NNACL_POSITION_H

#include <string.h>

#include "nnacl_base.h"

/* Index `i`, of a size of index_size bytes. */
static inline int64_t nnacl_index_at(const void *indices, int32_t index_size, ptrdiff_t i) {
    return index_size == 8 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* A place in 0 .. size - 1 for any index. */
static inline int32_t nnacl_position_clamped(int64_t index, int32_t size) {
    const int64_t place = index < 0 ? index + size : index;
    return place < 0 ? 0 : place >= size ? size - 1 : (int32_t)place;
}

/* The place of an index, or -1 when it is out of range. */
static inline int32_t nnacl_position_inside(int64_t index, int32_t size) {
    const int64_t place = index < 0 ? index + size : index;
    return place < 0 || place >= size ? -1 : (int32_t)place;
}

static inline void nnacl_copy_element(char *y, const char *x, int32_t element_size) {
    switch (element_size) {
    case 1:
        *y = *x;
        break;
    case 2:
        memcpy(y, x, 2);
        break;
    case 4:
        memcpy(y, x, 4);
        break;
    default:
        memcpy(y, x, 8);
        break;
    }
}

/* The rows along the last dimension of a tensor of indices, and how they lie in another tensor of the same rank. */
typedef struct nnacl_index_rows {
    int32_t count;       /* rows */
    int32_t length;      /* of each */
    int32_t axis_size;   /* of the other tensor along the axis that indices replace */
    int32_t axis_stride; /* elements from one index to the next in the other tensor */
    int32_t step;        /* elements from one position of the row to the next in the other tensor: 0 or 1 */
} nnacl_index_rows;

static inline nnacl_index_rows nnacl_index_rows_of(int32_t rank, const int32_t *dims, const int32_t *x_dims,
                                                   int32_t axis) {
    nnacl_index_rows rows = {1, dims[rank - 1], x_dims[axis], 1, axis != rank - 1};
    for (int32_t i = 0; i < rank - 1; i++) {
        rows.count *= dims[i];
    }
    for (int32_t i = axis + 1; i < rank; i++) {
        rows.axis_stride *= x_dims[i];
    }
    return rows;
}

/* Where a row begins in the other tensor, the coordinate along axis left at 0. */
static inline ptrdiff_t nnacl_index_row_base(int32_t row, int32_t rank, const int32_t *dims, const int32_t *x_dims,
                                             int32_t axis) {
    ptrdiff_t base = 0, stride = x_dims[rank - 1];
    for (int32_t i = rank - 2; i >= 0; i--) {
        base += i == axis ? 0 : row % dims[i] * stride;
        row /= dims[i];
        stride *= x_dims[i];
    }
    return base;
}

#endif
