/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the ops that move bytes. */
#include "common/data_input.h"
#include "common/lead.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "data/data.h"

#define LEAST_BYTES_PER_PART 65536

/* Parts of a strided copy, which is split by rows. */
static int32_t copy_parts(int32_t element_size, int32_t rank, const int32_t *dims) {
    int64_t rows = 1;
    for (int32_t i = 0; i < rank - 1; i++) {
        rows *= dims[i];
    }
    const int32_t parts = nnacl_shape_parts(rows * dims[rank - 1] * element_size, LEAST_BYTES_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

/* Takes a shape from input 1, if that is present. */
static const char *read_shape(const nnacl_tensor *in, int32_t n_in, int32_t *rank, int32_t *shape) {
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    const char *message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    if (message || count < 0) {
        return message;
    }
    *rank = count;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        NNACL_REQUIRE(i >= count || (values[i] >= -1 && values[i] <= INT32_MAX), "a dimension of shape is impossible");
        shape[i] = i < count ? (int32_t)values[i] : 0;
    }
    return NULL;
}

static const char *reshape_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    nnacl_reshape_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_shape(in, n_in, &p->rank, p->shape);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->allow_zero == 0 || p->allow_zero == 1, "allow_zero is neither 0 nor 1");
    NNACL_REQUIRE(p->rank >= 0 && p->rank <= NNACL_MAX_RANK, "the rank of shape is outside 0 .. 8");
    int32_t dims[NNACL_MAX_RANK] = {0};
    int32_t inferred = -1;
    int64_t known = 1;
    bool empty = false;
    for (int32_t i = 0; i < p->rank; i++) {
        dims[i] = p->shape[i];
        NNACL_REQUIRE(dims[i] >= -1, "a dimension of shape is below -1");
        if (dims[i] == -1) {
            NNACL_REQUIRE(inferred < 0, "more than one dimension of shape is -1");
            inferred = i;
            continue;
        }
        if (dims[i] == 0 && !p->allow_zero) {
            NNACL_REQUIRE(i < in[0].rank, "shape copies a dimension that the input does not have");
            dims[i] = in[0].dims[i];
        }
        NNACL_REQUIRE(dims[i] == 0 || known <= INT32_MAX / dims[i], "shape has more than 2^31 - 1 elements");
        known *= dims[i] == 0 ? 1 : dims[i];
        empty = empty || dims[i] == 0;
    }
    const int64_t count = nnacl_element_count(&in[0]);
    known = empty ? 0 : known;
    if (inferred >= 0) {
        NNACL_REQUIRE(known > 0 && count % known == 0, "the inferred dimension of shape is not a whole number");
        dims[inferred] = (int32_t)(count / known);
        known = count;
    }
    NNACL_REQUIRE(known == count, "shape does not have as many elements as the input");
    p->bytes = (int32_t)nnacl_shape_bytes(&in[0]);
    return nnacl_shape_set(&out[0], in[0].dtype, p->rank, dims);
}

static const char *transpose_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_transpose_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = in[0].rank;
    int32_t strides[NNACL_MAX_RANK];
    int32_t seen = 0;
    nnacl_shape_strides(&in[0], rank, strides);
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = p->x_strides[i] = 0;
        if (i >= rank) {
            continue;
        }
        NNACL_REQUIRE(p->perm[i] >= 0 && p->perm[i] < rank && !(seen >> p->perm[i] & 1),
                      "perm is not a permutation of the dimensions");
        seen |= 1 << p->perm[i];
        p->dims[i] = in[0].dims[p->perm[i]];
        p->x_strides[i] = strides[p->perm[i]];
    }
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, p->dims);
    NNACL_REQUIRE(!message, message);
    int32_t *const rows[] = {p->x_strides};
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->rank = nnacl_shape_merge(rank, p->dims, rows, 1);
    return NULL;
}

bool nnacl_transpose_accepts_matrices(const void *params) {
    const nnacl_transpose_params *p = params;
    if (p->rank < 2 || p->rank > 3) {
        return false;
    }
    const int32_t rows = p->dims[p->rank - 2], columns = p->dims[p->rank - 1];
    if (p->element_size != 4 && !(p->element_size == 1 && columns == 3)) {
        return false;
    }
    return p->x_strides[p->rank - 2] == 1 && p->x_strides[p->rank - 1] == rows && rows >= 8 && columns >= 3 &&
           (p->rank == 2 || p->x_strides[0] == rows * columns);
}

static int32_t transpose_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_transpose_params *p = params;
    (void)kernel;
    return copy_parts(p->element_size, p->rank, p->dims);
}

static int32_t clamp(int64_t value, int64_t low, int64_t high) {
    return (int32_t)(value < low ? low : value > high ? high : value);
}

/* The slice of one dimension from a start, an end and a step as NumPy and ONNX write them. */
static void slice_dimension(nnacl_slice_params *p, int32_t axis, int32_t dim, int64_t start, int64_t end,
                            int64_t step) {
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    const bool forward = step > 0;
    const int32_t first = clamp(start, 0, forward ? dim : dim - 1);
    const int32_t last = clamp(end, forward ? 0 : -1, forward ? dim : dim - 1);
    const int64_t span = forward ? (int64_t)last - first : (int64_t)first - last;
    const int64_t stride = forward ? step : -step;
    p->start[axis] = first;
    p->size[axis] = dim > 0 && span > 0 ? (int32_t)(1 + (span - 1) / stride) : 0;
    p->step[axis] = clamp(step, -INT32_MAX, INT32_MAX);
}

/* Takes the slice from inputs 1 to 4 (starts, ends, axes, steps), if the first two are present. */
static const char *read_slice(nnacl_slice_params *p, const nnacl_tensor *in, int32_t n_in) {
    enum { STARTS, ENDS, AXES, STEPS, LISTS };
    int64_t values[LISTS][NNACL_MAX_RANK];
    int32_t count[LISTS];
    for (int32_t list = 0; list < LISTS; list++) {
        const char *message = nnacl_data_input(in, n_in, 1 + list, NNACL_MAX_RANK, values[list], &count[list]);
        NNACL_REQUIRE(!message, message);
    }
    NNACL_REQUIRE(count[STARTS] == count[ENDS], "starts and ends differ in length");
    if (count[STARTS] < 0) {
        NNACL_REQUIRE(count[AXES] < 0 && count[STEPS] < 0, "axes or steps without starts");
        return NULL;
    }
    NNACL_REQUIRE(count[AXES] < 0 || count[AXES] == count[STARTS], "starts and axes differ in length");
    NNACL_REQUIRE(count[STEPS] < 0 || count[STEPS] == count[STARTS], "starts and steps differ in length");
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->start[i] = 0;
        p->size[i] = i < in[0].rank ? in[0].dims[i] : 0;
        p->step[i] = i < in[0].rank;
    }
    int32_t seen = 0;
    for (int32_t i = 0; i < count[STARTS]; i++) {
        const int32_t bit = nnacl_data_axis_bit(count[AXES] < 0 ? i : values[AXES][i], in[0].rank);
        const int64_t step = count[STEPS] < 0 ? 1 : values[STEPS][i];
        NNACL_REQUIRE(bit != 0 && (seen & bit) == 0, "an axis of the slice is out of range or there twice");
        NNACL_REQUIRE(step != 0 && step >= -INT64_MAX, "a step of the slice is 0");
        seen |= bit;
        int32_t axis = 0;
        while (bit >> axis != 1) {
            axis++;
        }
        slice_dimension(p, axis, in[0].dims[axis], values[STARTS][i], values[ENDS][i], step);
    }
    return NULL;
}

static const char *slice_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_slice_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 5, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_slice(p, in, n_in);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = in[0].rank;
    int32_t strides[NNACL_MAX_RANK];
    nnacl_shape_strides(&in[0], rank, strides);
    int64_t offset = 0;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = p->x_strides[i] = 0;
        if (i >= rank) {
            continue;
        }
        const int32_t dim = in[0].dims[i];
        const int64_t last = p->start[i] + ((int64_t)p->size[i] - 1) * p->step[i];
        NNACL_REQUIRE(p->size[i] >= 0, "a size of the slice is negative");
        NNACL_REQUIRE(p->step[i] != 0, "a step of the slice is 0");
        NNACL_REQUIRE(p->size[i] == 0 || (p->start[i] >= 0 && p->start[i] < dim && last >= 0 && last < dim),
                      "the slice reaches outside of the input");
        p->dims[i] = p->size[i];
        /* A single position is never stepped over, however large the step. */
        p->x_strides[i] = p->size[i] > 1 ? strides[i] * p->step[i] : 0;
        offset += p->size[i] == 0 ? 0 : (int64_t)p->start[i] * strides[i];
    }
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, p->dims);
    NNACL_REQUIRE(!message, message);
    int32_t *const rows[] = {p->x_strides};
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->x_offset = nnacl_element_count(&out[0]) == 0 ? 0 : (int32_t)offset;
    p->rank = nnacl_shape_merge(rank, p->dims, rows, 1);
    return NULL;
}

static int32_t slice_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_slice_params *p = params;
    (void)kernel;
    return copy_parts(p->element_size, p->rank, p->dims);
}

static const char *expand_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_expand_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_shape(in, n_in, &p->out_rank, p->shape);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->out_rank >= 0 && p->out_rank <= NNACL_MAX_RANK, "the rank of shape is outside 0 .. 8");
    nnacl_tensor shape = {.dtype = in[0].dtype, .rank = p->out_rank};
    for (int32_t i = 0; i < p->out_rank; i++) {
        NNACL_REQUIRE(p->shape[i] >= 0, "a dimension of shape is negative");
        shape.dims[i] = p->shape[i];
    }
    const nnacl_tensor *const tensors[] = {&in[0], &shape};
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = p->x_strides[i] = 0;
    }
    const int32_t rank = nnacl_shape_broadcast(tensors, 2, p->dims);
    NNACL_REQUIRE(rank >= 0, "the input cannot be broadcast to shape");
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, p->dims);
    NNACL_REQUIRE(!message, message);
    nnacl_shape_strides(&in[0], rank, p->x_strides);
    int32_t *const rows[] = {p->x_strides};
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->rank = nnacl_shape_merge(rank, p->dims, rows, 1);
    return NULL;
}

static int32_t expand_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_expand_params *p = params;
    (void)kernel;
    return copy_parts(p->element_size, p->rank, p->dims);
}

static const char *concat_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_concat_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, NNACL_MAX_INPUTS, n_out);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = in[0].rank;
    NNACL_REQUIRE(p->axis >= 0 && p->axis < rank, "axis is not a dimension of the inputs");
    int32_t dims[NNACL_MAX_RANK];
    int64_t outer = 1;
    int64_t total = 0;
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = in[0].dims[i];
        outer *= i < p->axis ? dims[i] : 1;
        outer = outer > INT32_MAX ? INT32_MAX : outer;
    }
    p->outer = (int32_t)outer;
    p->count = n_in;
    for (int32_t t = 0; t < NNACL_MAX_INPUTS; t++) {
        p->bytes[t] = 0;
        if (t >= n_in) {
            continue;
        }
        NNACL_REQUIRE(in[t].dtype != -1, "an input is missing");
        NNACL_REQUIRE(in[t].dtype == in[0].dtype && in[t].rank == rank, "the inputs differ in type or rank");
        for (int32_t i = 0; i < rank; i++) {
            NNACL_REQUIRE(i == p->axis || in[t].dims[i] == dims[i], "the inputs differ outside of axis");
        }
        total += in[t].dims[p->axis];
        p->bytes[t] = outer == 0 ? 0 : (int32_t)(nnacl_shape_bytes(&in[t]) / outer);
    }
    NNACL_REQUIRE(total <= INT32_MAX, "the output is too large");
    dims[p->axis] = (int32_t)total;
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, dims);
    NNACL_REQUIRE(!message, message);
    if (nnacl_element_count(&out[0]) == 0) {
        p->outer = 0;
    }
    return NULL;
}

static int32_t concat_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_concat_params *p = params;
    (void)kernel;
    int64_t bytes = 0;
    for (int32_t i = 0; i < p->count; i++) {
        bytes += p->bytes[i];
    }
    const int32_t parts = nnacl_shape_parts(bytes * p->outer, LEAST_BYTES_PER_PART);
    return p->outer < 1 ? 1 : parts < p->outer ? parts : p->outer;
}

/* Takes the amounts from inputs 2 and 3 (pads: all before, then all after; axes), if the first is present. */
static const char *read_pads(nnacl_pad_params *p, const nnacl_tensor *in, int32_t n_in) {
    int64_t pads[2 * NNACL_MAX_RANK];
    int64_t axes[NNACL_MAX_RANK];
    int32_t n_pads;
    int32_t n_axes;
    const int32_t rank = in[0].rank;
    const char *message = nnacl_data_input(in, n_in, 2, 2 * NNACL_MAX_RANK, pads, &n_pads);
    NNACL_REQUIRE(!message, message);
    message = nnacl_data_input(in, n_in, 3, NNACL_MAX_RANK, axes, &n_axes);
    NNACL_REQUIRE(!message, message);
    if (n_pads < 0) {
        NNACL_REQUIRE(n_axes < 0, "axes without pads");
        return NULL;
    }
    const int32_t count = n_axes < 0 ? rank : n_axes;
    NNACL_REQUIRE(n_pads == 2 * count, "pads does not hold two amounts for each axis");
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->before[i] = p->after[i] = 0;
    }
    for (int32_t i = 0; i < count; i++) {
        const int64_t axis = n_axes < 0 ? i : axes[i];
        NNACL_REQUIRE(nnacl_data_axis_bit(axis, rank) != 0, "an axis of the padding is out of range");
        const int32_t place = (int32_t)(axis < 0 ? axis + rank : axis);
        p->before[place] = clamp(pads[i], -INT32_MAX, INT32_MAX);
        p->after[place] = clamp(pads[i + count], -INT32_MAX, INT32_MAX);
    }
    return NULL;
}

static const char *pad_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_pad_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 4, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_pads(p, in, n_in);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->mode >= NNACL_PAD_CONSTANT && p->mode <= NNACL_PAD_WRAP, "mode is outside 0 .. 4");
    const nnacl_tensor *value = nnacl_plan_input(in, n_in, 1);
    NNACL_REQUIRE(!value || (value->dtype == in[0].dtype && nnacl_element_count(value) == 1),
                  "the value must be one element of the type of the input");
    const int32_t rank = in[0].rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t padded = 0;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->in_dims[i] = 0;
        if (i >= rank) {
            NNACL_REQUIRE(p->before[i] == 0 && p->after[i] == 0, "a padding has no dimension");
            continue;
        }
        const int32_t before = p->before[i] > 0 ? p->before[i] : 0;
        const int32_t after = p->after[i] > 0 ? p->after[i] : 0;
        const int64_t kept = in[0].dims[i] + ((int64_t)p->before[i] - before) + ((int64_t)p->after[i] - after);
        NNACL_REQUIRE(kept >= 0, "the padding crops more than the dimension");
        const int32_t dim = (int32_t)kept;
        NNACL_REQUIRE(p->mode != NNACL_PAD_REFLECT || (before == 0 && after == 0) || (before < dim && after < dim),
                      "reflect pads by less than the dimension");
        NNACL_REQUIRE((p->mode != NNACL_PAD_EDGE && p->mode != NNACL_PAD_WRAP) || dim > 0 ||
                          (before == 0 && after == 0),
                      "edge and wrap cannot pad an empty dimension");
        NNACL_REQUIRE(p->mode != NNACL_PAD_SYMMETRIC || (before <= dim && after <= dim),
                      "symmetric pads by at most the dimension");
        NNACL_REQUIRE((int64_t)before + dim + after <= INT32_MAX, "the output is too large");
        dims[i] = before + dim + after;
        padded = p->before[i] != 0 || p->after[i] != 0 ? i + 1 : padded;
    }
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, dims);
    NNACL_REQUIRE(!message, message);
    p->has_value = value != NULL;
    p->element_size = (int32_t)nnacl_dtype_size(in[0].dtype);
    p->block_size = p->element_size;
    p->rank = padded;
    if (nnacl_element_count(&out[0]) == 0) {
        p->rank = 1;
        p->block_size = 0;
        return NULL;
    }
    /* The output has elements, so the unpadded dimensions are not empty and their product fits. */
    for (int32_t i = padded; i < rank; i++) {
        p->block_size *= in[0].dims[i];
    }
    for (int32_t i = 0; i < padded; i++) {
        p->in_dims[i] = in[0].dims[i];
    }
    if (padded == 0) {
        p->rank = 1;
        p->in_dims[0] = 1;
    }
    return NULL;
}

static int32_t pad_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_pad_params *p = params;
    (void)kernel;
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < p->rank; i++) {
        dims[i] = p->before[i] + p->in_dims[i] + p->after[i];
    }
    return copy_parts(p->block_size, p->rank, dims);
}

/* Row by row; what is before the end of a row of y must not be wanted any more when that row is copied. The last row
 * that is copied is the furthest ahead. */
static nnacl_lead pad_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_pad_params *p = params;
    (void)kernel;
    if (index != 0 || p->mode != NNACL_PAD_CONSTANT || p->rank < 1) {
        return nnacl_lead_none();
    }
    int64_t out_row = 0, in_rows = 1, stride = 1;
    const int32_t last = p->rank - 1;
    for (int32_t i = last; i >= 0; i--) {
        if (p->before[i] < 0 || p->after[i] < 0 || p->in_dims[i] < 1) {
            return nnacl_lead_none();
        }
        if (i < last) {
            out_row += ((int64_t)p->before[i] + p->in_dims[i] - 1) * stride;
            stride *= (int64_t)p->before[i] + p->in_dims[i] + p->after[i];
            in_rows *= p->in_dims[i];
        }
    }
    const int64_t out_size = ((int64_t)p->before[last] + p->in_dims[last] + p->after[last]) * p->block_size;
    return nnacl_lead_from((out_row + 1) * out_size - (in_rows - 1) * p->in_dims[last] * p->block_size);
}

static const char *gather_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_gather_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    const nnacl_tensor *indices = &in[1];
    NNACL_REQUIRE(indices->dtype == NNACL_S32 || indices->dtype == NNACL_S64, "the indices must be s32 or s64");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    const int32_t rank = x->rank - 1 + indices->rank;
    NNACL_REQUIRE(rank <= NNACL_MAX_RANK, "the output has more than 8 dimensions");
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) {
        dims[i] = i < p->axis                   ? x->dims[i]
                  : i < p->axis + indices->rank ? indices->dims[i - p->axis]
                                                : x->dims[i - indices->rank + 1];
    }
    message = nnacl_shape_set(&out[0], x->dtype, rank, dims);
    NNACL_REQUIRE(!message, message);
    p->index_size = (int32_t)nnacl_dtype_size(indices->dtype);
    p->axis_size = x->dims[p->axis];
    p->outer = p->indices = p->inner_bytes = 0;
    if (nnacl_element_count(&out[0]) == 0) {
        return NULL;
    }
    NNACL_REQUIRE(p->axis_size > 0, "there is nothing to gather from an empty dimension");
    /* The output has elements, so every factor below is a factor of its size. */
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->inner_bytes = nnacl_shape_block_bytes(x, p->axis + 1, x->rank);
    p->indices = (int32_t)nnacl_element_count(indices);
    return NULL;
}

static int32_t gather_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_gather_params *p = params;
    (void)kernel;
    const int64_t rows = (int64_t)p->outer * p->indices;
    const int32_t parts = nnacl_shape_parts(rows * p->inner_bytes, LEAST_BYTES_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

static const char *cast_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_cast_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_dtype_size(p->to) != 0, "`to` is not an element type");
    p->from = in[0].dtype;
    p->count = (int32_t)nnacl_element_count(&in[0]);
    return nnacl_shape_set(&out[0], p->to, in[0].rank, in[0].dims);
}

bool nnacl_cast_accepts_half(const void *params) {
    const nnacl_cast_params *p = params;
    return (p->from == NNACL_F32 && p->to == NNACL_F16) || (p->from == NNACL_F16 && p->to == NNACL_F32);
}

static int32_t cast_parts(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return nnacl_shape_parts(((const nnacl_cast_params *)params)->count, LEAST_BYTES_PER_PART / 4);
}

static const char *bitcast_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    nnacl_bitcast_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_dtype_size(p->to) != 0 && nnacl_dtype_size(p->to) == nnacl_dtype_size(in[0].dtype),
                  "`to` is not an element type of the same size");
    NNACL_REQUIRE(p->to != NNACL_B8 || in[0].dtype == NNACL_B8, "not all bytes are elements of b8");
    p->bytes = (int32_t)nnacl_shape_bytes(&in[0]);
    return nnacl_shape_set(&out[0], p->to, in[0].rank, in[0].dims);
}

static int64_t concat_holds(const void *params, int32_t index) {
    const nnacl_concat_params *p = params;
    int64_t offset = p->outer == 1 && index < p->count ? 0 : -1;
    for (int32_t i = 0; offset >= 0 && i < index; i++) {
        offset += p->bytes[i];
    }
    return offset;
}

/* The dimensions are merged as far as they can be: what is one run has at most one. */
static int64_t slice_held(const void *params) {
    const nnacl_slice_params *p = params;
    const bool is_run = p->rank == 0 || (p->rank == 1 && p->x_strides[0] == 1);
    return is_run ? (int64_t)p->x_offset * p->element_size : -1;
}

#define DATA_OP(op, share, split, values) DATA_OP_AT(op, share, split, values, NULL, NULL, NULL)
#define DATA_OP_AT(op, share, split, values, holds_input, held_by_input, where_from)                                   \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #op "_params",                                                                         \
        .header = "data/data.h",                                                                                       \
        .params_size = sizeof(nnacl_##op##_params),                                                                    \
        .alias = share,                                                                                                \
        .resize = op##_resize,                                                                                         \
        .parts = split,                                                                                                \
        .data_inputs = values,                                                                                         \
        .holds = holds_input,                                                                                          \
        .held = held_by_input,                                                                                         \
        .lead = where_from,                                                                                            \
    };

DATA_OP(reshape, NNACL_ALIAS_VIEW, NULL, 1 << 1)
DATA_OP(transpose, NNACL_ALIAS_NONE, transpose_parts, 0)
DATA_OP_AT(slice, NNACL_ALIAS_NONE, slice_parts, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, NULL, slice_held, NULL)
DATA_OP(expand, NNACL_ALIAS_NONE, expand_parts, 1 << 1)
DATA_OP_AT(concat, NNACL_ALIAS_NONE, concat_parts, 0, concat_holds, NULL, NULL)
DATA_OP_AT(pad, NNACL_ALIAS_NONE, pad_parts, 1 << 2 | 1 << 3, NULL, NULL, pad_lead)
DATA_OP(gather, NNACL_ALIAS_NONE, gather_parts, 0)
DATA_OP(cast, NNACL_ALIAS_NONE, cast_parts, 0)
DATA_OP(bitcast, NNACL_ALIAS_VIEW, NULL, 0)
