/* Ops that move bytes. One row each, dtype any; element_size is derived from the input.
 *
 * reshape (view): shape attribute; one -1 is inferred, 0 copies the input dimension. Also serves squeeze, unsqueeze,
 *   flatten and identity.
 * transpose: y.dims[i] = x.dims[perm[i]].
 * concat: up to NNACL_MAX_INPUTS inputs along axis.
 * slice: y = x[start : start + size * step : step] per dimension, step may be negative; starts are in range.
 * expand: broadcasts x to shape (numpy rules). tile is expand between reshapes.
 * pad: mode 0 constant (value input 1, one element, optional: zero bytes), 1 reflect (the border is not repeated),
 *   2 edge, 3 symmetric (the border is repeated).
 * gather: inputs 0 x, 1 indices (s32 or s64), along axis; negative indices count from the end; an index out of range
 *   is clamped.
 * cast: element type to `to`; any but u64. Float to integer truncates and saturates, NaN becomes 0; integer to
 *   narrower integer wraps; to b8: x != 0; to floats: rounds to nearest even.
 */
#ifndef NNACL_DATA_H
#define NNACL_DATA_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_PAD_CONSTANT 0
#define NNACL_PAD_REFLECT 1
#define NNACL_PAD_EDGE 2
#define NNACL_PAD_SYMMETRIC 3

typedef struct nnacl_reshape_params {
    int32_t rank;
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t bytes;
} nnacl_reshape_params;

/* In transpose, slice and expand the derived fields say how y is read from x: y has `dims`, and a step along
 * dimension i moves x_strides[i] elements in x, from x_offset on. Dimensions that step alike are merged. */
typedef struct nnacl_transpose_params {
    int32_t perm[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t x_strides[NNACL_MAX_RANK];
} nnacl_transpose_params;

typedef struct nnacl_slice_params {
    int32_t start[NNACL_MAX_RANK], size[NNACL_MAX_RANK], step[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t x_strides[NNACL_MAX_RANK];
    int32_t x_offset;
} nnacl_slice_params;

typedef struct nnacl_expand_params {
    int32_t out_rank;
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t x_strides[NNACL_MAX_RANK];
} nnacl_expand_params;

typedef struct nnacl_concat_params {
    int32_t axis;
    /* derived: each input contributes outer blocks of bytes[i] */
    int32_t outer, count;
    int32_t bytes[NNACL_MAX_INPUTS];
} nnacl_concat_params;

typedef struct nnacl_pad_params {
    int32_t before[NNACL_MAX_RANK], after[NNACL_MAX_RANK];
    int32_t mode;
    /* derived: x has `rank` dimensions of blocks; the trailing dimensions without padding lie inside a block */
    int32_t has_value, element_size, block_size, rank;
    int32_t in_dims[NNACL_MAX_RANK];
} nnacl_pad_params;

typedef struct nnacl_gather_params {
    int32_t axis;
    /* derived */
    int32_t outer, axis_size, inner_bytes, indices, index_size;
} nnacl_gather_params;

typedef struct nnacl_cast_params {
    int32_t to; /* NNACL_F32 ... */
    /* derived */
    int32_t from, count;
} nnacl_cast_params;

#ifdef __cplusplus
}
#endif

#endif
