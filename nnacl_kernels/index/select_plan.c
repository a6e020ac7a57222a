/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the ops that order and select by value. */
#include <string.h>

#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "index/index.h"
#include "index/order.h"

#define LEAST_ELEMENTS_PER_PART 8192

/* A type and a number of inputs and outputs as nnacl_shape_check has it, for ops with several outputs. */
static const char *check(const nnacl_tensor *in, int32_t n_in, int32_t least, int32_t most, int32_t n_out,
                         int32_t wanted_out) {
    NNACL_REQUIRE(n_out == wanted_out, "the op has another number of outputs");
    return nnacl_shape_check(in, n_in, least, most, 1);
}

static const char *top_k_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_top_k_params *p = params;
    const char *message = check(in, n_in, 1, 2, n_out, 2);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    int64_t given = 0;
    int32_t count;
    message = nnacl_data_input(in, n_in, 1, 1, &given, &count);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    const int32_t depth = x->dims[p->axis];
    if (count >= 0) {
        NNACL_REQUIRE(count == 1 && given >= 0 && given <= depth, "k is not in 0 .. the size of the axis");
        p->k = (int32_t)given;
    }
    NNACL_REQUIRE(p->k >= 0 && p->k <= depth, "k is not in 0 .. the size of the axis");
    NNACL_REQUIRE(p->largest == 0 || p->largest == 1, "largest must be 0 or 1");
    NNACL_REQUIRE(p->to == NNACL_S32 || p->to == NNACL_S64, "`to` is neither s32 nor s64");
    p->dtype = x->dtype;
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->depth = depth;
    p->inner = nnacl_shape_product(x, p->axis + 1, x->rank);
    int32_t dims[NNACL_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[p->axis] = p->k;
    message = nnacl_shape_set(&out[0], x->dtype, x->rank, dims);
    return message ? message : nnacl_shape_set(&out[1], p->to, x->rank, dims);
}

static size_t top_k_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return (size_t)((const nnacl_top_k_params *)params)->k * sizeof(nnacl_ranked);
}

static int32_t top_k_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_top_k_params *p = params;
    (void)kernel;
    const int64_t rows = (int64_t)p->outer * p->inner;
    const int32_t parts = nnacl_shape_parts(rows * p->depth, LEAST_ELEMENTS_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

static const char *non_zero_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_non_zero_params *p = params;
    const char *message = check(in, n_in, 1, 1, n_out, 1);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    const int32_t elements = (int32_t)nnacl_element_count(x);
    NNACL_REQUIRE(elements == 0 || x->data, NNACL_NEEDS_DATA);
    p->dtype = x->dtype;
    p->rank = x->rank;
    p->count = 0;
    for (int32_t i = 0; i < elements; i++) {
        p->count += !nnacl_is_zero(x->data, i, x->dtype);
    }
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = i < x->rank ? x->dims[i] : 0;
    }
    const int32_t dims[2] = {x->rank, p->count};
    return nnacl_shape_set(&out[0], NNACL_S64, 2, dims);
}

static const char *compress_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_compress_params *p = params;
    const char *message = check(in, n_in, 2, 2, n_out, 1);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *condition = &in[1];
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    NNACL_REQUIRE(nnacl_plan_is(condition, NNACL_B8, 1), "the condition must be b8 of one dimension");
    p->size = x->dims[p->axis];
    p->entries = condition->dims[0] < p->size ? condition->dims[0] : p->size;
    NNACL_REQUIRE(p->entries == 0 || condition->data, NNACL_NEEDS_DATA);
    p->count = 0;
    for (int32_t i = 0; i < p->entries; i++) {
        p->count += ((const uint8_t *)condition->data)[i] != 0;
    }
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->block_bytes = nnacl_shape_block_bytes(x, p->axis + 1, x->rank);
    int32_t dims[NNACL_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[p->axis] = p->count;
    return nnacl_shape_set(&out[0], x->dtype, x->rank, dims);
}

static const char *unique_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_unique_params *p = params;
    const char *message = check(in, n_in, 1, 1, n_out, 5);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    NNACL_REQUIRE(p->sorted == 0 || p->sorted == 1, "sorted must be 0 or 1");
    p->dtype = x->dtype;
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->count = x->dims[p->axis];
    p->inner = nnacl_shape_product(x, p->axis + 1, x->rank);
    const int32_t one = 1;
    message = nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
    for (int32_t i = 1; i < 5 && !message; i++) {
        message = nnacl_shape_set(&out[i], NNACL_S64, 1, i == 4 ? &one : &p->count);
    }
    return message;
}

static size_t unique_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return 2 * (size_t)((const nnacl_unique_params *)params)->count * sizeof(int32_t);
}

static const char *read_threshold(const nnacl_tensor *threshold, int32_t *present) {
    *present = threshold != NULL;
    NNACL_REQUIRE(!threshold || (threshold->dtype == NNACL_F32 && nnacl_element_count(threshold) == 1),
                  "a threshold must be one f32");
    return NULL;
}

static const char *non_max_suppression_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                              int32_t n_out) {
    nnacl_non_max_suppression_params *p = params;
    const char *message = check(in, n_in, 2, 5, n_out, 2);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *boxes = &in[0], *scores = &in[1];
    int64_t given = 0;
    int32_t count;
    message = nnacl_data_input(in, n_in, 2, 1, &given, &count);
    NNACL_REQUIRE(!message, message);
    if (count >= 0) {
        NNACL_REQUIRE(count == 1, "max_output is empty");
        p->max_output = given < 0 ? 0 : given > INT32_MAX ? INT32_MAX : (int32_t)given;
    }
    NNACL_REQUIRE(nnacl_plan_is(boxes, NNACL_F32, 3) && boxes->dims[2] == 4, "boxes must be f32 [batch, n, 4]");
    NNACL_REQUIRE(nnacl_plan_is(scores, NNACL_F32, 3) && scores->dims[0] == boxes->dims[0] &&
                      scores->dims[2] == boxes->dims[1],
                  "scores must be f32 [batch, classes, n]");
    message = read_threshold(nnacl_plan_input(in, n_in, 3), &p->has_iou_threshold);
    NNACL_REQUIRE(!message, message);
    message = read_threshold(nnacl_plan_input(in, n_in, 4), &p->has_score_threshold);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->max_output >= 0, "max_output is negative");
    NNACL_REQUIRE(p->center_point_box == 0 || p->center_point_box == 1, "center_point_box must be 0 or 1");
    p->batch = boxes->dims[0];
    p->boxes = boxes->dims[1];
    p->classes = scores->dims[1];
    const int64_t most = (int64_t)p->batch * p->classes; /* below 2^62 */
    const int32_t each = p->max_output < p->boxes ? p->max_output : p->boxes;
    NNACL_REQUIRE(each == 0 || most <= INT32_MAX / each, "the output is too large");
    const int32_t dims[2] = {(int32_t)(most * each), 3};
    const int32_t one = 1;
    message = nnacl_shape_set(&out[0], NNACL_S64, 2, dims);
    return message ? message : nnacl_shape_set(&out[1], NNACL_S64, 1, &one);
}

static size_t non_max_suppression_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return (size_t)((const nnacl_non_max_suppression_params *)params)->boxes * sizeof(int32_t);
}

#define SELECT_OP(op, scratch, split, values)                                                                          \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #op "_params",                                                                         \
        .header = "index/index.h",                                                                                     \
        .params_size = sizeof(nnacl_##op##_params),                                                                    \
        .alias = NNACL_ALIAS_NONE,                                                                                     \
        .resize = op##_resize,                                                                                         \
        .workspace = scratch,                                                                                          \
        .parts = split,                                                                                                \
        .data_inputs = values,                                                                                         \
    };

SELECT_OP(top_k, top_k_workspace, top_k_parts, 1 << 1)
SELECT_OP(non_zero, NULL, NULL, 1 << 0)
SELECT_OP(compress, NULL, NULL, 1 << 1)
SELECT_OP(unique, unique_workspace, NULL, 0)
SELECT_OP(non_max_suppression, non_max_suppression_workspace, NULL, 1 << 2)
