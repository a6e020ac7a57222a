/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the ops around sizes: shapes read, dimensions of 1 moved, repetition, division. */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "data/data.h"
#include "data/split.h"

#define LEAST_BYTES_PER_PART 65536

/* Takes a mask of axes of `rank` dimensions (to which `more` are added for each axis) from input 1, if present. */
static const char *read_axes(const nnacl_tensor *in, int32_t n_in, int32_t rank, int32_t more, int32_t *axes) {
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    const char *message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    if (message || count < 0) {
        return message;
    }
    rank += more * count;
    NNACL_REQUIRE(rank <= NNACL_MAX_RANK, "the output has more than 8 dimensions");
    *axes = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t bit = nnacl_data_axis_bit(values[i], rank);
        NNACL_REQUIRE(bit != 0 && (*axes & bit) == 0, "an axis is out of range or there twice");
        *axes |= bit;
    }
    return NULL;
}

static const char *squeeze_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    nnacl_squeeze_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_axes(in, n_in, in[0].rank, 0, &p->axes);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->axes >= 0 && p->axes < 1 << in[0].rank, "axes names a dimension that the input does not have");
    int32_t dims[NNACL_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < in[0].rank; i++) {
        if (p->axes >> i & 1) {
            NNACL_REQUIRE(in[0].dims[i] == 1, "a dimension that is squeezed is not 1");
        } else {
            dims[rank++] = in[0].dims[i];
        }
    }
    p->bytes = (int32_t)nnacl_shape_bytes(&in[0]);
    return nnacl_shape_set(&out[0], in[0].dtype, rank, dims);
}

static const char *unsqueeze_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_unsqueeze_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    message = read_axes(in, n_in, in[0].rank, 1, &p->axes);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->axes >= 0 && p->axes < 1 << NNACL_MAX_RANK, "axes is outside of 8 dimensions");
    int32_t dims[NNACL_MAX_RANK];
    int32_t rank = 0;
    int32_t next = 0;
    while (next < in[0].rank || p->axes >> rank != 0) {
        NNACL_REQUIRE(rank < NNACL_MAX_RANK, "the output has more than 8 dimensions");
        const bool added = p->axes >> rank & 1;
        NNACL_REQUIRE(added || next < in[0].rank, "axes names a dimension that the output does not have");
        dims[rank++] = added ? 1 : in[0].dims[next++];
    }
    p->bytes = (int32_t)nnacl_shape_bytes(&in[0]);
    return nnacl_shape_set(&out[0], in[0].dtype, rank, dims);
}

static const char *tile_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_tile_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    NNACL_REQUIRE(!message, message);
    const int32_t rank = in[0].rank;
    NNACL_REQUIRE(count < 0 || count == rank, "repeats does not have one entry for each dimension");
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = p->times[i] = 0;
        if (count >= 0) {
            NNACL_REQUIRE(i >= count || (values[i] >= 0 && values[i] <= INT32_MAX), "a repetition is impossible");
            p->repeats[i] = i < count ? (int32_t)values[i] : 0;
        }
        if (i < rank) {
            NNACL_REQUIRE(p->repeats[i] >= 0, "a repetition is negative");
            NNACL_REQUIRE((int64_t)in[0].dims[i] * p->repeats[i] <= INT32_MAX, "the output is too large");
            dims[i] = in[0].dims[i] * p->repeats[i];
        }
    }
    message = nnacl_shape_set(&out[0], in[0].dtype, rank, dims);
    NNACL_REQUIRE(!message, message);
    p->rank = 0;
    if (nnacl_element_count(&out[0]) == 0) {
        return NULL;
    }
    /* A dimension goes together with the one before it when it is not repeated. */
    for (int32_t i = 0; i < rank; i++) {
        const bool joins = p->rank > 0 && p->repeats[i] == 1;
        p->dims[p->rank - joins] = joins ? p->dims[p->rank - 1] * in[0].dims[i] : in[0].dims[i];
        p->times[p->rank - joins] = joins ? p->times[p->rank - 1] : p->repeats[i];
        p->rank += !joins;
    }
    if (p->rank == 0) {
        p->dims[0] = p->times[0] = 1;
        p->rank = 1;
    }
    p->dims[p->rank - 1] *= (int32_t)nnacl_dtype_size(in[0].dtype);
    return NULL;
}

static int32_t tile_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_tile_params *p = params;
    (void)kernel;
    int64_t rows = 1;
    for (int32_t i = 0; i < p->rank - 1; i++) {
        rows *= (int64_t)p->dims[i] * p->times[i];
    }
    if (p->rank == 0) {
        return 1;
    }
    const int32_t last = p->rank - 1;
    const int32_t parts = nnacl_shape_parts(rows * p->dims[last] * p->times[last], LEAST_BYTES_PER_PART);
    return parts < rows ? parts : (int32_t)rows;
}

static const char *split_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_split_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, 1);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(n_out >= 1 && n_out <= NNACL_MAX_OUTPUTS, "there are too many outputs, or none");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < in[0].rank, "axis is not a dimension of the input");
    const int32_t dim = in[0].dims[p->axis];
    int64_t values[NNACL_MAX_OUTPUTS];
    int32_t count;
    message = nnacl_data_input(in, n_in, 1, NNACL_MAX_OUTPUTS, values, &count);
    NNACL_REQUIRE(!message, message);
    if (count >= 0) {
        p->n_sizes = count;
        for (int32_t i = 0; i < NNACL_MAX_OUTPUTS; i++) {
            NNACL_REQUIRE(i >= count || (values[i] >= 0 && values[i] <= dim), "a size of the split is impossible");
            p->sizes[i] = i < count ? (int32_t)values[i] : 0;
        }
    }
    NNACL_REQUIRE(p->n_sizes == n_out, "there are not as many sizes as outputs");
    p->dim = dim;
    int64_t sum = 0;
    for (int32_t i = 0; i < n_out; i++) {
        NNACL_REQUIRE(p->sizes[i] >= -1 && (p->sizes[i] == -1) == (p->sizes[0] == -1),
                      "a size of the split is negative, and not all are -1");
        sum += nnacl_split_size(p, i);
    }
    NNACL_REQUIRE(sum == dim, "the sizes of the split do not add up to the dimension");
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < in[0].rank; i++) {
        dims[i] = in[0].dims[i];
    }
    for (int32_t i = 0; i < n_out; i++) {
        dims[p->axis] = nnacl_split_size(p, i);
        message = nnacl_shape_set(&out[i], in[0].dtype, in[0].rank, dims);
        NNACL_REQUIRE(!message, message);
    }
    p->outer = 0;
    p->inner_bytes = 0;
    if (nnacl_element_count(&in[0]) > 0) {
        p->outer = nnacl_shape_product(&in[0], 0, p->axis);
        p->inner_bytes = nnacl_shape_block_bytes(&in[0], p->axis + 1, in[0].rank);
    }
    return NULL;
}

static int32_t split_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_split_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts((int64_t)p->dim * p->outer * p->inner_bytes, LEAST_BYTES_PER_PART);
    return p->outer < 1 ? 1 : parts < p->outer ? parts : p->outer;
}

static int32_t clamp_position(int32_t position, int32_t rank) {
    position += position < 0 ? rank : 0;
    return position < 0 ? 0 : position > rank ? rank : position;
}

static const char *shape_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_shape_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->to == NNACL_S32 || p->to == NNACL_S64, "`to` is neither s32 nor s64");
    const int32_t first = clamp_position(p->start, in[0].rank);
    const int32_t last = clamp_position(p->end, in[0].rank);
    p->count = last > first ? last - first : 0;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = i < p->count ? in[0].dims[first + i] : 0;
    }
    return nnacl_shape_set(&out[0], p->to, 1, &p->count);
}

static const char *size_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_size_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->to == NNACL_S32 || p->to == NNACL_S64, "`to` is neither s32 nor s64");
    p->count = (int32_t)nnacl_element_count(&in[0]);
    return nnacl_shape_set(&out[0], p->to, 0, NULL);
}

/* Steps of size `delta` from `start` that stay before `limit`, or -1 when they are too many to count. */
static int64_t count_steps(double start, double limit, double delta) {
    const double steps = (limit - start) / delta;
    if (!(steps > 0.0)) {
        return 0;
    }
    if (!(steps <= (double)INT32_MAX)) {
        return -1;
    }
    const int64_t whole = (int64_t)steps;
    return whole + ((double)whole < steps);
}

static int64_t count_integers(int64_t start, int64_t limit, int64_t delta) {
    if (delta > 0 ? start >= limit : start <= limit) {
        return 0;
    }
    const uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = 1 + (span - 1) / step;
    return count > INT32_MAX ? -1 : (int64_t)count;
}

static const char *range_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_range_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const int32_t dtype = in[0].dtype;
    NNACL_REQUIRE(dtype == NNACL_F32 || dtype == NNACL_S32 || dtype == NNACL_S64,
                  "the op is not defined for the element type of its input");
    for (int32_t i = 0; i < 3; i++) {
        NNACL_REQUIRE(in[i].dtype == dtype && nnacl_element_count(&in[i]) == 1,
                      "start, limit and delta are not single elements of one type");
        NNACL_REQUIRE(in[i].data, NNACL_NEEDS_DATA);
    }
    int64_t count;
    if (dtype == NNACL_F32) {
        float f[3];
        for (int32_t i = 0; i < 3; i++) {
            memcpy(&f[i], in[i].data, sizeof f[i]);
        }
        NNACL_REQUIRE(f[2] < 0.0f || f[2] > 0.0f, "delta is 0 or not a number");
        count = count_steps((double)f[0], (double)f[1], (double)f[2]);
    } else {
        const int64_t delta = nnacl_data_element(&in[2], 0);
        NNACL_REQUIRE(delta != 0, "delta is 0");
        count = count_integers(nnacl_data_element(&in[0], 0), nnacl_data_element(&in[1], 0), delta);
    }
    NNACL_REQUIRE(count >= 0, "the range has more than 2^31 - 1 elements");
    p->count = (int32_t)count;
    return nnacl_shape_set(&out[0], dtype, 1, &p->count);
}

#define SIZES_OP(op, share, split, values, only_types)                                                                 \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #op "_params",                                                                         \
        .header = "data/data.h",                                                                                       \
        .params_size = sizeof(nnacl_##op##_params),                                                                    \
        .alias = share,                                                                                                \
        .resize = op##_resize,                                                                                         \
        .parts = split,                                                                                                \
        .data_inputs = values,                                                                                         \
        .types_only = only_types,                                                                                      \
    };

SIZES_OP(squeeze, NNACL_ALIAS_VIEW, NULL, 1 << 1, 0)
SIZES_OP(unsqueeze, NNACL_ALIAS_VIEW, NULL, 1 << 1, 0)
SIZES_OP(tile, NNACL_ALIAS_NONE, tile_parts, 1 << 1, 0)
SIZES_OP(split, NNACL_ALIAS_NONE, split_parts, 1 << 1, 0)
SIZES_OP(shape, NNACL_ALIAS_NONE, NULL, 0, 1)
SIZES_OP(size, NNACL_ALIAS_NONE, NULL, 0, 1)
SIZES_OP(range, NNACL_ALIAS_NONE, NULL, 1 << 0 | 1 << 1 | 1 << 2, 0)
