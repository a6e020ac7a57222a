/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move bytes. One row each, dtype any; element_size is derived from the input. Inputs in brackets are optional
 * integers (s32 or s64) that stand for attributes.
 *
 * reshape (view): inputs 0 x, [1 shape]; one -1 is inferred, 0 copies the input dimension unless allow_zero is 1. Also
 *   serves flatten and identity.
 * transpose: y.dims[i] = x.dims[perm[i]].
 * concat: up to NNACL_MAX_INPUTS inputs along axis.
 * slice: y = x[start : start + size * step : step] per dimension, step may be negative; starts are in range. Inputs
 *   0 x, [1 starts, 2 ends, 3 axes, 4 steps], which count and clamp as in NumPy and ONNX.
 * expand: broadcasts x to shape (numpy rules). Inputs 0 x, [1 shape].
 * pad: mode 0 constant (value input 1, one element, optional: zero bytes), 1 reflect (the border is not repeated),
 *   2 edge, 3 symmetric (the border is repeated), 4 wrap (around to the other end). Inputs [2 pads, 3 axes]: all
 * amounts before, then all after, of some axes or of all. A negative amount crops x, before anything is added; what is
 * added follows from what is left. gather: inputs 0 x, 1 indices (s32 or s64), along axis;
 * negative indices count from the end; an index out of range is clamped. cast: element type to `to`. Float to integer
 * truncates and saturates, NaN becomes 0; integer to integer wraps; to b8: x != 0; to floats: rounds to nearest even.
 * bitcast (view): the bytes of x as elements of the type `to`, which has the same size; any type but b8 from another.
 * squeeze and unsqueeze (views): take out, or put in, the dimensions of size 1 whose bit of `axes` is set; for
 *   unsqueeze these count in y. Inputs 0 x, [1 axes].
 * tile: y is x repeats[i] times along dimension i. Inputs 0 x, [1 repeats].
 * split: outputs 0 .. n_sizes - 1 are the pieces of x along axis, of sizes[i]. Where all of these are -1 the pieces are
 *   equal, but for the last ones, which may be smaller or empty. Inputs 0 x, [1 sizes].
 * shape: the dimensions start .. end - 1 of x, clamped as in a slice of step 1, as a vector of type `to` (s32 or s64).
 * size: the number of elements of x, a scalar of type `to`.
 * range (f32 s32 s64; inputs 0 start, 1 limit, 2 delta, one element each): start + i * delta up to limit, which is not
 *   reached.
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
#define NNACL_PAD_WRAP 4

typedef struct nnacl_reshape_params {
    int32_t rank;
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t bytes;
    /* attribute */
    int32_t allow_zero;
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

typedef struct nnacl_bitcast_params {
    int32_t to; /* NNACL_F32 ... */
    /* derived */
    int32_t bytes;
} nnacl_bitcast_params;

typedef struct nnacl_squeeze_params {
    int32_t axes;
    /* derived */
    int32_t bytes;
} nnacl_squeeze_params;

typedef nnacl_squeeze_params nnacl_unsqueeze_params;

typedef struct nnacl_tile_params {
    int32_t repeats[NNACL_MAX_RANK];
    /* derived: x has `rank` dimensions, of which the last one is contiguous bytes */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t times[NNACL_MAX_RANK];
} nnacl_tile_params;

typedef struct nnacl_split_params {
    int32_t axis;
    int32_t n_sizes;
    int32_t sizes[NNACL_MAX_OUTPUTS];
    /* derived: each of `outer` blocks of x goes to the outputs in pieces of some positions of inner_bytes */
    int32_t outer, inner_bytes, dim;
} nnacl_split_params;

typedef struct nnacl_shape_params {
    int32_t start, end;
    int32_t to; /* NNACL_S32 or NNACL_S64 */
    /* derived */
    int32_t count;
    int32_t dims[NNACL_MAX_RANK];
} nnacl_shape_params;

typedef struct nnacl_size_params {
    int32_t to; /* NNACL_S32 or NNACL_S64 */
    /* derived */
    int32_t count;
} nnacl_size_params;

typedef struct nnacl_range_params {
    /* derived */
    int32_t count;
} nnacl_range_params;

/* For the kernel of transpose that knows matrices, or several of them, of elements of four bytes,
 * or of bytes to pixels of three. */
bool nnacl_transpose_accepts_matrices(const void *params);

/* For kernels of cast that know f32 and f16 alone. */
bool nnacl_cast_accepts_half(const void *params);

#ifdef __cplusplus
}
#endif

#endif
