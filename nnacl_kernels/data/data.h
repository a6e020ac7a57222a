/* Ops that move bytes. One row each, dtype any; element_size is derived from the input.
 *
 * reshape (view): shape attribute; one -1 is inferred, 0 copies the input dimension. Also serves squeeze, unsqueeze,
 *   flatten and identity.
 * transpose: y.dims[i] = x.dims[perm[i]].
 * concat: up to NNACL_MAX_INPUTS inputs along axis.
 * slice: y = x[start : start + size * step : step] per dimension, step may be negative; starts are in range.
 * pad: constant (value input 1, one element, optional: zero bytes) mode 0, reflect 1, edge 2.
 * gather: inputs 0 x, 1 indices (s32 or s64), along axis; negative indices count from the end; an index out of range
 *   is clamped.
 * expand: broadcasts x to shape (numpy rules). tile is expand between reshapes.
 * cast: element type to dtype (float to integer truncates and saturates; to b8: x != 0).
 */
#ifndef NNACL_DATA_H
#define NNACL_DATA_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_reshape_params {
    int32_t rank;
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t bytes;
} nnacl_reshape_params;

typedef struct nnacl_transpose_params {
    int32_t perm[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank;
    int32_t in_dims[NNACL_MAX_RANK];
} nnacl_transpose_params;

typedef struct nnacl_concat_params {
    int32_t axis;
    /* derived: each input contributes outer blocks of bytes[i] */
    int32_t outer, count;
    int32_t bytes[NNACL_MAX_INPUTS];
} nnacl_concat_params;

typedef struct nnacl_slice_params {
    int32_t start[NNACL_MAX_RANK], size[NNACL_MAX_RANK], step[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank;
    int32_t in_dims[NNACL_MAX_RANK];
} nnacl_slice_params;

typedef struct nnacl_pad_params {
    int32_t before[NNACL_MAX_RANK], after[NNACL_MAX_RANK];
    int32_t mode;
    /* derived */
    int32_t element_size, rank;
    int32_t in_dims[NNACL_MAX_RANK];
} nnacl_pad_params;

typedef struct nnacl_gather_params {
    int32_t axis;
    /* derived */
    int32_t outer, axis_size, inner_bytes, indices, index_size;
} nnacl_gather_params;

typedef struct nnacl_expand_params {
    int32_t out_rank;
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size;
    int32_t x_strides[NNACL_MAX_RANK];
} nnacl_expand_params;

typedef struct nnacl_cast_params {
    int32_t to; /* NNACL_F32 ... */
    /* derived */
    int32_t from, count;
} nnacl_cast_params;

#ifdef __cplusplus
}
#endif

#endif
