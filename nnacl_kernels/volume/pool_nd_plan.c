/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the pools. */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "volume/volume.h"

static const char *pool_resize(nnacl_pool_nd_params *p, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out) {
    NNACL_REQUIRE(n_in == 1, "expected one input");
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->rank >= 3 && x->rank <= 5, "x must have one to three spatial dimensions");
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0, "x has too many elements");
    NNACL_REQUIRE(p->count_include_pad == 0 || p->count_include_pad == 1, "count_include_pad must be 0 or 1");
    NNACL_REQUIRE(p->column_major == 0 || p->column_major == 1, "column_major must be 0 or 1");
    const int32_t absent = 5 - x->rank;
    const bool global = p->kernel[0] == 0 && p->kernel[1] == 0 && p->kernel[2] == 0;
    int64_t positions = 1;
    int32_t dims[5] = {x->dims[0]};
    p->batch = x->dims[0];
    p->channels = x->dims[x->rank - 1];
    for (int32_t i = 0; i < 3; i++) {
        const bool present = i >= absent;
        p->in_size[i] = present ? x->dims[1 + i - absent] : 1;
        p->window[i] = global ? p->in_size[i] : p->kernel[i];
        NNACL_REQUIRE(present || (p->window[i] == 1 && p->stride[i] == 1 && p->dilation[i] == 1 && !p->pad_before[i] &&
                                  !p->pad_after[i] && !p->extra[i]),
                      "an attribute of a dimension that x does not have is set");
        NNACL_REQUIRE(p->pad_after[i] >= 0 && p->extra[i] >= 0, "a padding is negative");
        const char *message = nnacl_plan_window(p->in_size[i], p->pad_before[i], (int64_t)p->pad_after[i] + p->extra[i],
                                                p->window[i], p->stride[i], p->dilation[i], &p->out_size[i]);
        NNACL_REQUIRE(!message, message);
        NNACL_REQUIRE(p->window[i] <= INT32_MAX / positions, "the kernel is too large");
        positions *= p->window[i];
        if (present) {
            dims[1 + i - absent] = p->out_size[i];
        }
    }
    dims[x->rank - 1] = p->channels;
    NNACL_REQUIRE(nnacl_plan_output(&out[0], x->dtype, x->rank, dims), "y would have too many elements");
    return NULL;
}

static const char *max_pool_nd_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                      int32_t n_out) {
    nnacl_pool_nd_params *p = params;
    NNACL_REQUIRE(p->with_indices == 0 || p->with_indices == 1, "with_indices must be 0 or 1");
    NNACL_REQUIRE(n_out == 1 + p->with_indices, "the op has another number of outputs");
    const char *message = pool_resize(p, in, n_in, out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].dtype == NNACL_F32 || in[0].dtype == NNACL_S8 || in[0].dtype == NNACL_U8,
                  "x must be f32, s8 or u8");
    return p->with_indices ? nnacl_shape_set(&out[1], NNACL_S64, out[0].rank, out[0].dims) : NULL;
}

static const char *float_pool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_pool_nd_params *p = params;
    NNACL_REQUIRE(n_out == 1, "the op has exactly one output");
    const char *message = pool_resize(p, in, n_in, out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "x must be f32");
    NNACL_REQUIRE(p->p >= 1, "p is less than 1");
    return NULL;
}

static int32_t pool_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_pool_nd_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_size[0] * p->out_size[1] : 1;
}

static const char *max_unpool_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_max_unpool_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 2, 3, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0], *indices = &in[1];
    NNACL_REQUIRE(nnacl_plan_is(indices, NNACL_S64, x->rank), "the indices must be s64 of the shape of x");
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    message = nnacl_data_input(in, n_in, 2, NNACL_MAX_RANK, values, &count);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(count < 0 || count == x->rank, "shape has another rank than x");
    nnacl_tensor indexed;
    for (int32_t i = 0; i < x->rank; i++) {
        NNACL_REQUIRE(indices->dims[i] == x->dims[i], "the indices must be s64 of the shape of x");
        NNACL_REQUIRE(count < 0 || (values[i] >= 0 && values[i] <= INT32_MAX), "a dimension of shape is impossible");
    }
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->shape[i] = i >= x->rank ? 0 : count < 0 ? p->shape[i] : (int32_t)values[i];
        p->indexed[i] = i >= x->rank ? 0 : p->indexed[i];
    }
    NNACL_REQUIRE(nnacl_plan_output(&indexed, x->dtype, x->rank, p->indexed), "indexed is impossible");
    p->element_size = (int32_t)nnacl_dtype_size(x->dtype);
    p->rank = x->rank;
    p->count = (int32_t)nnacl_element_count(x);
    return nnacl_shape_set(&out[0], x->dtype, x->rank, p->shape);
}

#define POOL_OP(op, derive)                                                                                            \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_pool_nd_params",                                                                         \
        .header = "volume/volume.h",                                                                                   \
        .params_size = sizeof(nnacl_pool_nd_params),                                                                   \
        .alias = NNACL_ALIAS_NONE,                                                                                     \
        .resize = derive,                                                                                              \
        .parts = pool_parts,                                                                                           \
    };

POOL_OP(max_pool_nd, max_pool_nd_resize)
POOL_OP(avg_pool_nd, float_pool_resize)
POOL_OP(lp_pool, float_pool_resize)

const nnacl_op nnacl_max_unpool_op = {
    .name = "max_unpool",
    .params_name = "nnacl_max_unpool_params",
    .header = "volume/volume.h",
    .params_size = sizeof(nnacl_max_unpool_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = max_unpool_resize,
    .data_inputs = 1 << 2,
};
