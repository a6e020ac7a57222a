/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "common/shape.h"
#include "norm/norm.h"

#define LEAST_ELEMENTS_PER_PART 8192
/* So that depth times a sum of squares fits in 64 bits. */
#define MOST_BYTES (1 << 20)
#define MOST_SHORTS (1 << 16)
/* So that a sum of squares of differences of bytes fits in 32 bits. */
#define MOST_SQUARES 33025

static bool epsilon_ok(float epsilon) {
    return epsilon >= 0.0f && epsilon <= 3.4e38f;
}

/* An optional input that is absent or has the dimensions of x from `axis` on. */
static bool is_tail(const nnacl_tensor *tensor, const nnacl_tensor *x, int32_t axis) {
    if (!tensor) {
        return true;
    }
    if (!nnacl_plan_is(tensor, NNACL_F32, x->rank - axis)) {
        return false;
    }
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] != x->dims[axis + i]) {
            return false;
        }
    }
    return true;
}

static const char *resize_rows(nnacl_norm_params *p, const nnacl_tensor *in, int32_t n_in, int32_t most,
                               nnacl_tensor *out) {
    const char *message = nnacl_shape_check(in, n_in, 1, most, 1);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *scale = nnacl_plan_input(in, n_in, 1), *bias = nnacl_plan_input(in, n_in, 2);
    const bool is_integer = most == 3 && (x->dtype == NNACL_S8 || x->dtype == NNACL_S16);
    NNACL_REQUIRE(x->dtype == NNACL_F32 || is_integer, "x must be f32, or s8 or s16 for layer_norm");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of x");
    NNACL_REQUIRE(epsilon_ok(p->epsilon), "epsilon is negative or not finite");
    NNACL_REQUIRE(is_tail(scale, x, p->axis) && is_tail(bias, x, p->axis),
                  "scale and bias must be f32 of the normalized dimensions");
    int64_t rows = 1, depth = 1;
    for (int32_t i = 0; i < x->rank; i++) {
        if (i < p->axis) {
            rows *= x->dims[i];
        } else {
            depth *= x->dims[i];
        }
        NNACL_REQUIRE(rows <= INT32_MAX && depth <= INT32_MAX, "x has too many rows");
    }
    if (is_integer) {
        NNACL_REQUIRE(depth <= (x->dtype == NNACL_S8 ? MOST_BYTES : MOST_SHORTS),
                      "more than 2^20 integers of s8 or 2^16 of s16 are normalized together");
        NNACL_REQUIRE(p->with_statistics == 0, "integers have no statistics");
        NNACL_REQUIRE(p->x_scale > 0.0f && p->x_scale <= 3.4e38f && p->y_scale > 0.0f && p->y_scale <= 3.4e38f,
                      "x_scale and y_scale must be positive and finite");
        NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding) && nnacl_plan_zero_ok(p->y_zero, x->dtype),
                      "unknown rounding contract, or y_zero outside the range of y");
    }
    p->rows = (int32_t)rows;
    p->depth = (int32_t)depth;
    p->has_scale = scale != NULL;
    p->has_bias = bias != NULL;
    return nnacl_shape_set(&out[0], x->dtype, x->rank, x->dims);
}

static const char *layer_norm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_norm_params *p = params;
    NNACL_REQUIRE(p->with_statistics == 0 || p->with_statistics == 1, "with_statistics must be 0 or 1");
    NNACL_REQUIRE(n_out == (p->with_statistics ? 3 : 1), "the outputs are y, or y and two statistics");
    const char *message = resize_rows(p, in, n_in, 3, out);
    NNACL_REQUIRE(!message, message);
    for (int32_t index = 1; index < n_out; index++) {
        int32_t dims[NNACL_MAX_RANK];
        for (int32_t i = 0; i < in[0].rank; i++) {
            dims[i] = i < p->axis ? in[0].dims[i] : 1;
        }
        message = nnacl_shape_set(&out[index], NNACL_F32, in[0].rank, dims);
        NNACL_REQUIRE(!message, message);
    }
    return NULL;
}

static const char *rms_norm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_norm_params *p = params;
    NNACL_REQUIRE(p->with_statistics == 0 && n_out == 1, "the only output is y");
    return resize_rows(p, in, n_in, 2, out);
}

static int32_t rows_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_norm_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts((int64_t)p->rows * p->depth, LEAST_ELEMENTS_PER_PART);
    return p->rows < 1 ? 1 : parts < p->rows ? parts : p->rows;
}

static const char *group_norm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_group_norm_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *scale = nnacl_plan_input(in, n_in, 1), *bias = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(x->dtype == NNACL_F32 && x->rank >= 2, "x must be f32 [n, ..., c]");
    NNACL_REQUIRE(epsilon_ok(p->epsilon), "epsilon is negative or not finite");
    p->batch = x->dims[0];
    p->channels = x->dims[x->rank - 1];
    NNACL_REQUIRE(p->groups >= 1 && p->channels >= 1 && p->channels % p->groups == 0,
                  "groups must divide the number of channels");
    NNACL_REQUIRE((!scale || nnacl_plan_is_vector(scale, NNACL_F32, p->channels)) &&
                      (!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->channels)),
                  "scale and bias must be f32 [c]");
    int64_t positions = 1;
    for (int32_t i = 1; i < x->rank - 1; i++) {
        positions *= x->dims[i];
        NNACL_REQUIRE(positions <= INT32_MAX, "x has too many positions");
    }
    p->positions = (int32_t)positions;
    NNACL_REQUIRE((int64_t)p->batch * p->groups <= INT32_MAX, "x has too many groups");
    p->has_scale = scale != NULL;
    p->has_bias = bias != NULL;
    return nnacl_shape_set(&out[0], NNACL_F32, x->rank, x->dims);
}

/* Three numbers for each channel. */
static size_t group_norm_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return 3 * sizeof(float) * (size_t)((const nnacl_group_norm_params *)params)->channels;
}

static int32_t group_norm_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_group_norm_params *p = params;
    (void)kernel;
    const int64_t items = (int64_t)p->batch * p->groups;
    const int32_t parts = nnacl_shape_parts((int64_t)p->batch * p->positions * p->channels, LEAST_ELEMENTS_PER_PART);
    return items < 1 ? 1 : parts < items ? parts : (int32_t)items;
}

static const char *lrn_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_lrn_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && x->rank >= 1, "x must be f32 with at least one dimension");
    NNACL_REQUIRE(p->before >= 0 && p->after >= 0 && p->before <= INT32_MAX / 2 && p->after <= INT32_MAX / 2,
                  "before and after must not be negative");
    int64_t rows = 1;
    for (int32_t i = 0; i < x->rank - 1; i++) {
        rows *= x->dims[i];
        NNACL_REQUIRE(rows <= INT32_MAX, "x has too many rows");
    }
    p->rows = (int32_t)rows;
    p->channels = x->dims[x->rank - 1];
    return nnacl_shape_set(&out[0], NNACL_F32, x->rank, x->dims);
}

static int32_t lrn_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_lrn_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts((int64_t)p->rows * p->channels, LEAST_ELEMENTS_PER_PART / 4);
    return p->rows < 1 ? 1 : parts < p->rows ? parts : p->rows;
}

static const char *l2_norm_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    nnacl_l2_norm_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_S8 && x->rank >= 1, "x must be s8 with at least one dimension");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, NNACL_S8), "x_zero is outside -128 .. 127");
    NNACL_REQUIRE(p->scaled_first == 0 || p->scaled_first == 1, "scaled_first must be 0 or 1");
    int64_t rows = 1;
    for (int32_t i = 0; i < x->rank - 1; i++) {
        rows *= x->dims[i];
        NNACL_REQUIRE(rows <= INT32_MAX, "x has too many rows");
    }
    p->rows = (int32_t)rows;
    p->depth = x->dims[x->rank - 1];
    NNACL_REQUIRE(p->depth <= MOST_SQUARES, "a row is longer than 33,025 elements");
    return nnacl_shape_set(&out[0], NNACL_S8, x->rank, x->dims);
}

static int32_t l2_norm_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_l2_norm_params *p = params;
    (void)kernel;
    const int32_t parts = nnacl_shape_parts((int64_t)p->rows * p->depth, LEAST_ELEMENTS_PER_PART);
    return p->rows < 1 ? 1 : parts < p->rows ? parts : p->rows;
}

const nnacl_op nnacl_l2_norm_op = {
    .name = "l2_norm",
    .params_name = "nnacl_l2_norm_params",
    .header = "norm/norm.h",
    .params_size = sizeof(nnacl_l2_norm_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = l2_norm_resize,
    .parts = l2_norm_parts,
};

const nnacl_op nnacl_layer_norm_op = {
    .name = "layer_norm",
    .params_name = "nnacl_norm_params",
    .header = "norm/norm.h",
    .params_size = sizeof(nnacl_norm_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = layer_norm_resize,
    .parts = rows_parts,
};

const nnacl_op nnacl_rms_norm_op = {
    .name = "rms_norm",
    .params_name = "nnacl_norm_params",
    .header = "norm/norm.h",
    .params_size = sizeof(nnacl_norm_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = rms_norm_resize,
    .parts = rows_parts,
};

const nnacl_op nnacl_group_norm_op = {
    .name = "group_norm",
    .params_name = "nnacl_group_norm_params",
    .header = "norm/norm.h",
    .params_size = sizeof(nnacl_group_norm_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = group_norm_resize,
    .workspace = group_norm_workspace,
    .parts = group_norm_parts,
};

const nnacl_op nnacl_lrn_op = {
    .name = "lrn",
    .params_name = "nnacl_lrn_params",
    .header = "norm/norm.h",
    .params_size = sizeof(nnacl_lrn_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = lrn_resize,
    .parts = lrn_parts,
};
