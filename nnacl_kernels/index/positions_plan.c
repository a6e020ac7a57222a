/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the ops that pick and place by position. */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "index/index.h"

#define LEAST_BYTES_PER_PART 65536

static void copy_dims(int32_t *to, const nnacl_tensor *from, int32_t begin, int32_t end) {
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        to[i] = begin + i < end ? from->dims[begin + i] : 0;
    }
}

static bool is_index(const nnacl_tensor *tensor) {
    return tensor->dtype == NNACL_S32 || tensor->dtype == NNACL_S64;
}

static int32_t index_size(const nnacl_tensor *tensor) {
    return tensor->dtype == NNACL_S32 ? 4 : 8;
}

/* Takes one integer from input `index`, if that is present; clamped to 32 bits. */
static const char *read_integer(const nnacl_tensor *in, int32_t n_in, int32_t index, int32_t *value) {
    int64_t given = 0;
    int32_t count;
    const char *message = nnacl_data_input(in, n_in, index, 1, &given, &count);
    if (message || count < 0) {
        return message;
    }
    NNACL_REQUIRE(count == 1, "an input that should hold one integer is empty");
    *value = given > INT32_MAX ? INT32_MAX : given < -INT32_MAX ? -INT32_MAX : (int32_t)given;
    return NULL;
}

static const char *check_elements(const nnacl_tensor *x, const nnacl_tensor *indices, int32_t axis) {
    NNACL_REQUIRE(is_index(indices), "the indices must be s32 or s64");
    NNACL_REQUIRE(axis >= 0 && axis < x->rank, "axis is not a dimension of the input");
    NNACL_REQUIRE(indices->rank == x->rank, "the indices have another rank than the input");
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(i == axis || indices->dims[i] <= x->dims[i],
                      "a dimension of the indices is larger than the input's");
    }
    return NULL;
}

static const char *gather_elements_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                          int32_t n_out) {
    nnacl_gather_elements_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = check_elements(&in[0], &in[1], p->axis);
    NNACL_REQUIRE(!message, message);
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->index_size = index_size(&in[1]);
    p->rank = in[0].rank;
    copy_dims(p->dims, &in[1], 0, in[1].rank);
    copy_dims(p->x_dims, &in[0], 0, in[0].rank);
    NNACL_REQUIRE(in[0].dims[p->axis] > 0 || nnacl_element_count(&in[1]) == 0,
                  "there is nothing to gather from an empty dimension");
    return nnacl_shape_set(&out[0], in[0].dtype, in[1].rank, in[1].dims);
}

static int32_t gather_elements_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_gather_elements_params *p = params;
    (void)kernel;
    int64_t rows = 1;
    for (int32_t i = 0; i < p->rank - 1; i++) {
        rows *= p->dims[i];
    }
    const int32_t parts = nnacl_shape_parts(rows * p->dims[p->rank - 1], LEAST_BYTES_PER_PART / 8);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

static const char *gather_nd_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_gather_nd_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *indices = &in[1];
    const int32_t batch = p->batch_dims;
    NNACL_REQUIRE(is_index(indices), "the indices must be s32 or s64");
    NNACL_REQUIRE(batch >= 0 && batch < indices->rank && batch <= x->rank, "batch_dims is out of range");
    const int32_t depth = indices->dims[indices->rank - 1];
    NNACL_REQUIRE(depth >= 1 && depth <= x->rank - batch, "the indices have more coordinates than x, or none");
    for (int32_t i = 0; i < batch; i++) {
        NNACL_REQUIRE(x->dims[i] == indices->dims[i], "a batch dimension differs");
    }
    const int32_t rank = indices->rank - 1 + x->rank - batch - depth;
    NNACL_REQUIRE(rank <= NNACL_MAX_RANK, "the output has more than 8 dimensions");
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = i < indices->rank - 1 ? indices->dims[i] : x->dims[batch + depth + i - (indices->rank - 1)];
    }
    message = nnacl_shape_set(&out[0], x->dtype, rank, dims);
    NNACL_REQUIRE(!message, message);
    p->index_size = index_size(indices);
    p->depth = depth;
    copy_dims(p->dims, x, batch, batch + depth);
    p->batches = p->tuples = p->block_bytes = 0;
    if (nnacl_element_count(&out[0]) == 0) {
        return NULL;
    }
    NNACL_REQUIRE(nnacl_shape_product(x, batch, batch + depth) > 0,
                  "there is nothing to gather from an empty dimension");
    p->batches = nnacl_shape_product(indices, 0, batch);
    p->tuples = nnacl_shape_product(indices, batch, indices->rank - 1);
    p->block_bytes = nnacl_shape_block_bytes(x, batch + depth, x->rank);
    return NULL;
}

static int32_t gather_nd_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_gather_nd_params *p = params;
    (void)kernel;
    const int64_t rows = (int64_t)p->batches * p->tuples;
    const int32_t parts = nnacl_shape_parts(rows * p->block_bytes, LEAST_BYTES_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

static bool is_number(int32_t dtype) {
    return dtype != NNACL_B8 && dtype != NNACL_F16;
}

static const char *check_scatter(const nnacl_tensor *in, int32_t n_in, int32_t n_out, int32_t reduction) {
    const char *message = nnacl_shape_check(in, n_in, 3, 3, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(is_index(&in[1]), "the indices must be s32 or s64");
    NNACL_REQUIRE(in[2].dtype == in[0].dtype, "the updates have another element type than x");
    NNACL_REQUIRE(reduction >= NNACL_SCATTER_REPLACE && reduction <= NNACL_SCATTER_MIN, "reduction is unknown");
    NNACL_REQUIRE(reduction == NNACL_SCATTER_REPLACE || is_number(in[0].dtype),
                  "a reduction is not defined for this element type");
    return NULL;
}

static const char *scatter_elements_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                           int32_t n_out) {
    nnacl_scatter_elements_params *p = params;
    const char *message = check_scatter(in, n_in, n_out, p->reduction);
    NNACL_REQUIRE(!message, message);
    message = check_elements(&in[0], &in[1], p->axis);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[2].rank == in[1].rank, "indices and updates have different shapes");
    for (int32_t i = 0; i < in[1].rank; i++) {
        NNACL_REQUIRE(in[2].dims[i] == in[1].dims[i], "indices and updates have different shapes");
    }
    p->dtype = in[0].dtype;
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->index_size = index_size(&in[1]);
    p->rank = in[0].rank;
    p->count = (int32_t)nnacl_element_count(&in[0]);
    copy_dims(p->dims, &in[1], 0, in[1].rank);
    copy_dims(p->x_dims, &in[0], 0, in[0].rank);
    return nnacl_shape_set(&out[0], in[0].dtype, in[0].rank, in[0].dims);
}

static const char *scatter_nd_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_scatter_nd_params *p = params;
    const char *message = check_scatter(in, n_in, n_out, p->reduction);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *indices = &in[1], *updates = &in[2];
    NNACL_REQUIRE(indices->rank >= 1, "the indices have no dimension of coordinates");
    const int32_t depth = indices->dims[indices->rank - 1], tuple_rank = indices->rank - 1;
    NNACL_REQUIRE(depth <= x->rank, "the indices have more coordinates than x");
    NNACL_REQUIRE(updates->rank == tuple_rank + x->rank - depth, "the updates have the wrong rank");
    for (int32_t i = 0; i < updates->rank; i++) {
        const int32_t dim = i < tuple_rank ? indices->dims[i] : x->dims[i - tuple_rank + depth];
        NNACL_REQUIRE(updates->dims[i] == dim, "the updates have the wrong shape");
    }
    p->dtype = x->dtype;
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->index_size = index_size(indices);
    p->depth = depth;
    p->tuples = nnacl_shape_product(indices, 0, tuple_rank);
    p->block = nnacl_shape_product(x, depth, x->rank);
    p->count = (int32_t)nnacl_element_count(x);
    copy_dims(p->dims, x, 0, depth);
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

bool nnacl_scatter_elements_replaces(const void *params) {
    return ((const nnacl_scatter_elements_params *)params)->reduction == NNACL_SCATTER_REPLACE;
}

bool nnacl_scatter_elements_combines(const void *params) {
    return !nnacl_scatter_elements_replaces(params);
}

bool nnacl_scatter_nd_replaces(const void *params) {
    return ((const nnacl_scatter_nd_params *)params)->reduction == NNACL_SCATTER_REPLACE;
}

bool nnacl_scatter_nd_combines(const void *params) {
    return !nnacl_scatter_nd_replaces(params);
}

static const char *tensor_scatter_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                         int32_t n_out) {
    nnacl_tensor_scatter_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *update = &in[1], *positions = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(p->axis >= 1 && p->axis < x->rank, "axis is not a dimension of the input behind the batch");
    NNACL_REQUIRE(update->dtype == x->dtype && update->rank == x->rank, "x and update differ in type or rank");
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(i == p->axis || x->dims[i] == update->dims[i],
                      "x and update differ in another dimension than axis");
    }
    NNACL_REQUIRE(update->dims[p->axis] <= x->dims[p->axis], "update is larger than x");
    NNACL_REQUIRE(p->circular == 0 || p->circular == 1, "circular must be 0 or 1");
    NNACL_REQUIRE(!positions || (is_index(positions) && positions->rank == 1 && positions->dims[0] == x->dims[0]),
                  "the positions must be s32 or s64 [batch]");
    p->has_positions = positions != NULL;
    p->index_size = positions ? index_size(positions) : 0;
    p->batch = x->dims[0];
    p->outer = nnacl_shape_product(x, 1, p->axis);
    p->size = x->dims[p->axis];
    p->update_size = update->dims[p->axis];
    p->block_bytes = nnacl_shape_block_bytes(x, p->axis + 1, x->rank);
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

static const char *update_slice_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                       int32_t n_out) {
    nnacl_update_slice_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *update = &in[1], *start = &in[2];
    NNACL_REQUIRE(update->dtype == x->dtype && update->rank == x->rank, "x and update differ in type or rank");
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(update->dims[i] <= x->dims[i], "update is larger than x");
    }
    NNACL_REQUIRE(is_index(start) && start->rank == 1 && start->dims[0] == x->rank,
                  "start must be s32 or s64 [dimensions of x]");
    p->index_size = index_size(start);
    p->rank = x->rank;
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    copy_dims(p->dims, x, 0, x->rank);
    copy_dims(p->update_dims, update, 0, x->rank);
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

static const char *one_hot_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    nnacl_one_hot_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 3, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_integer(in, n_in, 2, &p->depth);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *indices = &in[0];
    NNACL_REQUIRE(is_index(indices), "the indices must be s32 or s64");
    NNACL_REQUIRE(nnacl_element_count(&in[1]) == 2, "values must have two elements: off and on");
    NNACL_REQUIRE(p->depth >= 0, "depth is negative");
    NNACL_REQUIRE(p->axis >= 0 && p->axis <= indices->rank, "axis is out of range");
    NNACL_REQUIRE(indices->rank < NNACL_MAX_RANK, "the output has more than 8 dimensions");
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i <= indices->rank; i++) {
        dims[i] = i < p->axis ? indices->dims[i] : i == p->axis ? p->depth : indices->dims[i - 1];
    }
    p->element_size = (int32_t)nnacl_dtype_size(in[1].dtype);
    p->index_size = index_size(indices);
    p->outer = nnacl_shape_product(indices, 0, p->axis);
    p->inner = nnacl_shape_product(indices, p->axis, indices->rank);
    return nnacl_shape_set(&out[0], in[1].dtype, indices->rank + 1, dims);
}

static const char *trilu_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_trilu_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_integer(in, n_in, 1, &p->k);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->rank >= 2, "the input has fewer than two dimensions");
    NNACL_REQUIRE(p->upper == 0 || p->upper == 1, "upper must be 0 or 1");
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->matrices = nnacl_shape_product(x, 0, x->rank - 2);
    p->rows = x->dims[x->rank - 2];
    p->columns = x->dims[x->rank - 1];
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

static const char *eye_like_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_eye_like_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].rank == 2, "the input must have two dimensions");
    NNACL_REQUIRE(nnacl_dtype_size(p->to) != 0, "`to` is not an element type");
    p->element_size = (int32_t)nnacl_dtype_size(p->to);
    p->rows = in[0].dims[0];
    p->columns = in[0].dims[1];
    return nnacl_shape_set(&out[0], p->to, 2, in[0].dims);
}

static const char *reverse_sequence_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                           int32_t n_out) {
    nnacl_reverse_sequence_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *lengths = &in[1];
    NNACL_REQUIRE(p->batch_axis >= 0 && p->batch_axis < x->rank && p->time_axis >= 0 && p->time_axis < x->rank &&
                      p->batch_axis != p->time_axis,
                  "batch_axis and time_axis are not two dimensions of the input");
    NNACL_REQUIRE(is_index(lengths) && lengths->rank == 1 && lengths->dims[0] == x->dims[p->batch_axis],
                  "the lengths must be s32 or s64 [batch]");
    const int32_t first = p->batch_axis < p->time_axis ? p->batch_axis : p->time_axis;
    const int32_t second = p->batch_axis + p->time_axis - first;
    p->index_size = index_size(lengths);
    p->outer = nnacl_shape_product(x, 0, first);
    p->first = x->dims[first];
    p->middle = nnacl_shape_product(x, first + 1, second);
    p->second = x->dims[second];
    p->block_bytes = nnacl_shape_block_bytes(x, second + 1, x->rank);
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

static const char *center_crop_pad_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                          int32_t n_out) {
    nnacl_center_crop_pad_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    NNACL_REQUIRE(!message, message);
    if (count >= 0) {
        NNACL_REQUIRE(p->n_axes >= 0 && p->n_axes <= NNACL_MAX_RANK, "n_axes is out of range");
        NNACL_REQUIRE(count == (p->n_axes > 0 ? p->n_axes : x->rank), "there is not one size for each axis");
        for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
            p->size[i] = i < x->rank ? -1 : 0;
        }
        for (int32_t i = 0; i < count; i++) {
            const int32_t axis = p->n_axes > 0 ? p->axes[i] : i;
            NNACL_REQUIRE(axis >= 0 && axis < x->rank, "an axis is not a dimension of the input");
            NNACL_REQUIRE(values[i] >= 0 && values[i] <= INT32_MAX, "a size is impossible");
            p->size[axis] = (int32_t)values[i];
        }
    }
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(p->size[i] >= -1, "a size is negative");
        dims[i] = p->size[i] == -1 ? x->dims[i] : p->size[i];
    }
    message = nnacl_shape_set(&out[0], x->dtype, x->rank, dims);
    NNACL_REQUIRE(!message, message);
    /* Trailing dimensions that stay as they are lie inside a block. */
    int32_t rank = x->rank;
    while (rank > 0 && dims[rank - 1] == x->dims[rank - 1]) {
        rank--;
    }
    p->rank = rank;
    p->block_bytes = nnacl_shape_block_bytes(&out[0], rank, x->rank);
    copy_dims(p->dims, &out[0], 0, rank);
    copy_dims(p->x_dims, x, 0, rank);
    return NULL;
}

#define INDEX_OP(op, share, split, values)                                                                             \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #op "_params",                                                                         \
        .header = "index/index.h",                                                                                     \
        .params_size = sizeof(nnacl_##op##_params),                                                                    \
        .alias = share,                                                                                                \
        .resize = op##_resize,                                                                                         \
        .parts = split,                                                                                                \
        .data_inputs = values,                                                                                         \
    };

INDEX_OP(gather_elements, NNACL_ALIAS_NONE, gather_elements_parts, 0)
INDEX_OP(gather_nd, NNACL_ALIAS_NONE, gather_nd_parts, 0)
INDEX_OP(scatter_elements, NNACL_ALIAS_IN_PLACE, NULL, 0)
INDEX_OP(scatter_nd, NNACL_ALIAS_IN_PLACE, NULL, 0)
INDEX_OP(tensor_scatter, NNACL_ALIAS_IN_PLACE, NULL, 0)
INDEX_OP(update_slice, NNACL_ALIAS_IN_PLACE, NULL, 0)
INDEX_OP(one_hot, NNACL_ALIAS_NONE, NULL, 1 << 2)
INDEX_OP(trilu, NNACL_ALIAS_IN_PLACE, NULL, 1 << 1)
INDEX_OP(eye_like, NNACL_ALIAS_NONE, NULL, 0)
INDEX_OP(reverse_sequence, NNACL_ALIAS_NONE, NULL, 0)
INDEX_OP(center_crop_pad, NNACL_ALIAS_NONE, NULL, 1 << 1)
