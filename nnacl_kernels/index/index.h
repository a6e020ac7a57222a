/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that pick, place, order and select elements by position or by value. Indices are s32 or s64; negative ones count
 * from the end. A picking op clamps an index that is out of range, a placing op leaves the element out. Inputs in
 * brackets are optional; those marked * are integers that stand for attributes. Order is that of numbers, with NaN
 * above all of them and -0 equal to 0; among equals the lower position comes first.
 *
 * gather_elements: inputs 0 x, 1 indices, of the rank of x and no larger but along axis. y has the shape of indices;
 * each index replaces the coordinate along axis. gather_nd: inputs 0 x, 1 indices [batch.., n.., k]: tuples of k
 * coordinates of x behind batch_dims batch dimensions. y is [batch.., n.., the rest of x]. scatter_elements: inputs 0
 * x, 1 indices, 2 updates, both of the same shape. y is x, where each update goes to its own coordinates with that
 * along axis replaced by the index. reduction 0: replaces (the last one wins), 1: adds, 2: multiplies, 3: the larger,
 * 4: the smaller one stays. Integers wrap. scatter_nd: inputs 0 x, 1 indices [n.., k], 2 updates [n.., the rest of x];
 * reduction as above. tensor_scatter: inputs 0 x, 1 update, [2 positions [batch]]: update is written into x along axis
 * from the position of its batch (dimension 0) on, or from 0; with circular 1 it continues at the start. one_hot:
 * inputs 0 indices, 1 values [off, on], [2 depth*]: a new dimension of size depth at axis. trilu: x, with zeros below
 * (upper 1) or above (upper 0) diagonal k of the last two dimensions. Inputs 0 x, [1 k*]. eye_like: ones of type `to`
 * on diagonal k of a matrix of the shape of x. reverse_sequence: inputs 0 x, 1 lengths [batch]: the first elements
 * along time_axis in reverse order. center_crop_pad: the middle of x, or x in the middle of zeros, along the dimensions
 * where size is not -1. Inputs 0 x, [1 sizes*] of the dimensions axes[0 .. n_axes - 1], or of all where n_axes is 0.
 *
 * top_k: inputs 0 x, [1 k*]. The k largest (largest 1) or smallest elements along axis in order; outputs 0 values,
 *   1 positions of type `to` (s32 or s64).
 * non_zero: the coordinates of the elements that are not 0 in row-major order, s64 [rank, count].
 * compress: inputs 0 x, 1 b8 [n]: the slices of x along axis whose entry is not 0; entries that are missing count as 0.
 * unique: the distinct slices of x along axis, sorted (sorted 1) or by first occurrence. Outputs 0 slices, 1 s64 [n]
 *   positions of first occurrence, 2 s64 [n] to which distinct slice each slice of x is equal, 3 s64 [n] how often each
 *   occurs, 4 s64 [1] their number. Outputs 0, 1, 3 have room for all n slices of x; what is past the number is 0.
 * non_max_suppression: inputs 0 boxes f32 [batch, n, 4], 1 scores f32 [batch, classes, n], [2 max_output*,
 *   3 iou_threshold, 4 score_threshold (f32, one element)]. In each class the boxes with a score above the threshold,
 * best first, but for those that overlap one before by more than iou_threshold; max_output at most. Outputs 0 s64
 *   [batch * classes * min(max_output, n), 3]: batch, class and box of each; 1 s64 [1] their number. What is past the
 *   number is 0. Boxes are two opposite corners, or with center_point_box 1 x, y of the centre, width, height.
 */
#ifndef NNACL_INDEX_H
#define NNACL_INDEX_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_SCATTER_REPLACE 0
#define NNACL_SCATTER_ADD 1
#define NNACL_SCATTER_MUL 2
#define NNACL_SCATTER_MAX 3
#define NNACL_SCATTER_MIN 4

typedef struct nnacl_gather_elements_params {
    int32_t axis;
    /* derived */
    int32_t element_size, index_size, rank;
    int32_t dims[NNACL_MAX_RANK]; /* of the indices */
    int32_t x_dims[NNACL_MAX_RANK];
} nnacl_gather_elements_params;

typedef struct nnacl_gather_nd_params {
    int32_t batch_dims;
    /* derived: y is batches * tuples blocks of block_bytes; a batch of x is product(dims) of them */
    int32_t index_size, depth, batches, tuples, block_bytes;
    int32_t dims[NNACL_MAX_RANK];
} nnacl_gather_nd_params;

typedef struct nnacl_scatter_elements_params {
    int32_t axis;
    int32_t reduction;
    /* derived */
    int32_t dtype, element_size, index_size, rank, count;
    int32_t dims[NNACL_MAX_RANK]; /* of the indices */
    int32_t x_dims[NNACL_MAX_RANK];
} nnacl_scatter_elements_params;

typedef struct nnacl_scatter_nd_params {
    int32_t reduction;
    /* derived: x is product(dims) blocks of block elements */
    int32_t dtype, element_size, index_size, depth, tuples, block, count;
    int32_t dims[NNACL_MAX_RANK];
} nnacl_scatter_nd_params;

typedef struct nnacl_tensor_scatter_params {
    int32_t axis;
    int32_t circular;
    /* derived: each batch is `outer` rows of `size` (in x) or `update_size` blocks of block_bytes */
    int32_t has_positions, index_size, batch, outer, size, update_size, block_bytes;
} nnacl_tensor_scatter_params;

typedef struct nnacl_update_slice_params {
    /* derived: x has `rank` dimensions, the last one contiguous bytes */
    int32_t index_size, rank, element_size;
    int32_t dims[NNACL_MAX_RANK];
    int32_t update_dims[NNACL_MAX_RANK];
} nnacl_update_slice_params;

typedef struct nnacl_one_hot_params {
    int32_t axis;
    int32_t depth;
    /* derived */
    int32_t element_size, index_size, outer, inner;
} nnacl_one_hot_params;

typedef struct nnacl_trilu_params {
    int32_t upper;
    int32_t k;
    /* derived */
    int32_t element_size, matrices, rows, columns;
} nnacl_trilu_params;

typedef struct nnacl_eye_like_params {
    int32_t k;
    int32_t to;
    /* derived */
    int32_t element_size, rows, columns;
} nnacl_eye_like_params;

typedef struct nnacl_reverse_sequence_params {
    int32_t batch_axis, time_axis;
    /* derived: x is [outer, first, middle, second, blocks of block_bytes], where first and second are batch and time */
    int32_t index_size, outer, first, middle, second, block_bytes;
} nnacl_reverse_sequence_params;

typedef struct nnacl_center_crop_pad_params {
    int32_t size[NNACL_MAX_RANK];
    int32_t n_axes;
    int32_t axes[NNACL_MAX_RANK];
    /* derived: y has `rank` dimensions of blocks of block_bytes */
    int32_t rank, block_bytes;
    int32_t dims[NNACL_MAX_RANK];
    int32_t x_dims[NNACL_MAX_RANK];
} nnacl_center_crop_pad_params;

typedef struct nnacl_top_k_params {
    int32_t axis;
    int32_t k;
    int32_t largest;
    int32_t to; /* NNACL_S32 or NNACL_S64 */
    /* derived */
    int32_t dtype, element_size, outer, depth, inner;
} nnacl_top_k_params;

typedef struct nnacl_non_zero_params {
    /* derived */
    int32_t dtype, rank, count;
    int32_t dims[NNACL_MAX_RANK];
} nnacl_non_zero_params;

typedef struct nnacl_compress_params {
    int32_t axis;
    /* derived: each of `outer` rows of x is `size` blocks of block_bytes, the first `entries` of which may be taken */
    int32_t outer, size, entries, count, block_bytes;
} nnacl_compress_params;

typedef struct nnacl_unique_params {
    int32_t axis;
    int32_t sorted;
    /* derived */
    int32_t dtype, element_size, outer, count, inner;
} nnacl_unique_params;

typedef struct nnacl_non_max_suppression_params {
    int32_t max_output;
    float iou_threshold;
    float score_threshold;
    int32_t center_point_box;
    /* derived */
    int32_t has_iou_threshold, has_score_threshold, batch, classes, boxes;
} nnacl_non_max_suppression_params;

/* For kernels of the reduction 0, and of the others. */
bool nnacl_scatter_elements_replaces(const void *params);
bool nnacl_scatter_elements_combines(const void *params);
bool nnacl_scatter_nd_replaces(const void *params);
bool nnacl_scatter_nd_combines(const void *params);

#ifdef __cplusplus
}
#endif

#endif
