/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "common/shape.h"
#include "softmax/softmax.h"

#define LEAST_ELEMENTS_PER_PART 4096

static const char *resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                          bool is_log) {
    nnacl_softmax_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    const nnacl_tensor *table = nnacl_plan_input(in, n_in, 1);
    NNACL_REQUIRE(x->dtype == NNACL_F32 || x->dtype == NNACL_S8 || x->dtype == NNACL_S16,
                  "the op is not defined for the element type of its input");
    NNACL_REQUIRE(x->dtype == NNACL_S8    ? nnacl_plan_is_vector(table, NNACL_F32, 256)
                  : x->dtype == NNACL_S16 ? nnacl_plan_is_vector(table, NNACL_S16, 1026)
                                          : !table,
                  "the table must be f32 [256] for s8, s16 [1026] for s16 and absent for f32");
    NNACL_REQUIRE(nnacl_plan_requant_ok(p->mult, p->shift), "mult is negative or shift outside -62 .. 30");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    NNACL_REQUIRE(p->beta >= 0.0f && p->beta <= 3.4e38f, "beta is negative or not finite");
    if (x->dtype == NNACL_S8) {
        NNACL_REQUIRE(p->y_scale > 0.0f && p->y_scale <= 3.4e38f, "y_scale must be positive and finite");
        NNACL_REQUIRE(p->to == NNACL_S8 || (p->to == NNACL_S16 && p->rounding != NNACL_ROUND_FLOAT_EVEN),
                      "y must be s8, or s16 but under float-even");
        NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding) && nnacl_plan_zero_ok(p->y_zero, p->to),
                      "unknown rounding contract, or y_zero outside the range of y");
    }
    if (x->dtype != NNACL_F32 && is_log) {
        NNACL_REQUIRE(p->x_scale > 0.0f && p->x_scale <= 3.4e38f, "x_scale must be positive and finite");
        NNACL_REQUIRE(p->to == NNACL_S8 && (p->x_offset == 0 || p->x_offset == 128),
                      "y must be s8, and x_offset 0 or 128");
        NNACL_REQUIRE(x->dtype == NNACL_S8 || (p->y_scale > 0.0f && p->y_scale <= 3.4e38f && p->x_offset == 0 &&
                                               nnacl_plan_zero_ok(p->y_zero, NNACL_S16)),
                      "y_scale must be positive and finite, y_zero in the range of s16");
    }
    p->depth = x->dims[p->axis];
    p->outer = p->depth == 0 ? 0 : nnacl_shape_product(x, 0, p->axis);
    p->inner = nnacl_shape_product(x, p->axis + 1, x->rank);
    return nnacl_shape_set(&out[0], x->dtype == NNACL_S8 ? p->to : x->dtype, x->rank, x->dims);
}

static const char *softmax_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                  int32_t n_out) {
    return resize(params, in, n_in, out, n_out, false);
}

static const char *log_softmax_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                      int32_t n_out) {
    return resize(params, in, n_in, out, n_out, true);
}

static int32_t softmax_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_softmax_params *p = params;
    (void)kernel;
    const int64_t rows = (int64_t)p->outer * p->inner;
    const int32_t parts = nnacl_shape_parts(rows * p->depth, LEAST_ELEMENTS_PER_PART);
    return rows < 1 ? 1 : parts < rows ? parts : (int32_t)rows;
}

bool nnacl_softmax_accepts_last_axis(const void *params) {
    return ((const nnacl_softmax_params *)params)->inner == 1;
}

bool nnacl_softmax_accepts_scaled_rows(const void *params) {
    const nnacl_softmax_params *p = params;
    return p->rounding == NNACL_ROUND_FLOAT_EVEN && p->to == NNACL_S8 && nnacl_softmax_accepts_last_axis(params);
}

bool nnacl_softmax_accepts_bytes(const void *params) {
    const nnacl_softmax_params *p = params;
    return p->to == NNACL_S8 && nnacl_softmax_accepts_last_axis(params);
}

bool nnacl_softmax_accepts_short_shifts(const void *params) {
    const nnacl_softmax_params *p = params;
    return p->shift >= -30 && p->shift <= 14 && nnacl_softmax_accepts_last_axis(params);
}

static size_t softmax_workspace(const void *params, const nnacl_kernel *kernel) {
    const bool has_rows = kernel->accepts == nnacl_softmax_accepts_scaled_rows;
    return has_rows ? NNACL_SOFTMAX_ROWS * (size_t)((const nnacl_softmax_params *)params)->depth * sizeof(float) : 0;
}

const nnacl_op nnacl_softmax_op = {
    .name = "softmax",
    .params_name = "nnacl_softmax_params",
    .header = "softmax/softmax.h",
    .params_size = sizeof(nnacl_softmax_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = softmax_resize,
    .workspace = softmax_workspace,
    .parts = softmax_parts,
};

const nnacl_op nnacl_log_softmax_op = {
    .name = "log_softmax",
    .params_name = "nnacl_softmax_params",
    .header = "softmax/softmax.h",
    .params_size = sizeof(nnacl_softmax_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = log_softmax_resize,
    .parts = softmax_parts,
};
