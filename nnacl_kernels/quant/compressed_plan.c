/* SPDX-License-Identifier: Apache-2.0 */
#include "common/plan_check.h"
#include "nnacl_kernels.h"
#include "quant/quant.h"

/* Weights [out_c, ...] of rows of `depth` numbers, bias and scales. */
static const char *check_compressed(const nnacl_tensor *in, int32_t n_in, int32_t out_c, int64_t depth, int32_t bits,
                                    int32_t group) {
    NNACL_REQUIRE(bits == 4 || bits == 8 || bits == 16, "bits must be 4, 8 or 16");
    NNACL_REQUIRE(depth >= 1 && depth <= INT32_MAX / 4, "the rows of the weights are too long");
    const nnacl_tensor *w = &in[1];
    const int32_t dtype = bits == 4 ? NNACL_U8 : bits == 8 ? NNACL_S8 : NNACL_F16;
    NNACL_REQUIRE(nnacl_plan_is(w, dtype, 2) && nnacl_plan_count(w) >= 0,
                  "weights must be two-dimensional, u8 with 4 bits, s8 with 8 and f16 with 16");
    NNACL_REQUIRE(w->dims[1] == (bits == 4 ? (depth + 1) / 2 : depth), "weights do not have the depth of x");
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2), *scales = nnacl_plan_input(in, n_in, 3);
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, out_c), "bias must be f32 [output channels]");
    if (bits == 16) {
        NNACL_REQUIRE(!scales, "weights of 16 bits have no scales");
        return NULL;
    }
    NNACL_REQUIRE(group >= 0, "group must not be negative");
    const int64_t groups = group > 0 ? (depth - 1) / group + 1 : 1;
    NNACL_REQUIRE(scales && nnacl_plan_is(scales, NNACL_F32, 2) && scales->dims[0] == out_c &&
                      scales->dims[1] == groups,
                  "scales must be f32 [output channels, groups]");
    return NULL;
}

static const char *conv_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_conv2d_compressed_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected x, weights, bias and scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_F32, 4) && nnacl_plan_count(x) >= 0,
                  "x must be f32 [batch, height, width, channels]");
    NNACL_REQUIRE(w->rank == 2, "weights must be two-dimensional");
    p->batch = x->dims[0];
    p->in_h = x->dims[1];
    p->in_w = x->dims[2];
    p->in_c = x->dims[3];
    p->out_c = w->dims[0];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE(p->groups >= 1 && p->in_c % p->groups == 0 && p->out_c % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(p->kernel_h >= 1 && p->kernel_w >= 1 && p->kernel_h <= 4096 && p->kernel_w <= 4096,
                  "kernel must be positive, and at most 4096");
    const char *message =
        nnacl_plan_window(p->in_h, p->pad_top, p->pad_bottom, p->kernel_h, p->stride_h, p->dilation_h, &p->out_h);
    if (!message) {
        message =
            nnacl_plan_window(p->in_w, p->pad_left, p->pad_right, p->kernel_w, p->stride_w, p->dilation_w, &p->out_w);
    }
    if (message) {
        return message;
    }
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    NNACL_REQUIRE(nnacl_plan_output(&out[0], NNACL_F32, 4, dims), "y would have too many elements");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    return check_compressed(in, n_in, p->out_c, (int64_t)p->kernel_h * p->kernel_w * (p->in_c / p->groups), p->bits,
                            p->group);
}

/* One row of weights as real numbers. */
static size_t conv_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_compressed_params *p = params;
    (void)kernel;
    return (size_t)p->kernel_h * (size_t)p->kernel_w * (size_t)(p->in_c / p->groups) * sizeof(float);
}

static int32_t conv_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_compressed_params *p = params;
    (void)kernel;
    return p->out_c;
}

static int64_t conv_macs(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}

const nnacl_op nnacl_conv2d_compressed_op = {
    .name = "conv2d_compressed",
    .params_name = "nnacl_conv2d_compressed_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_conv2d_compressed_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv_resize,
    .workspace = conv_workspace,
    .parts = conv_parts,
    .macs = conv_macs,
};

static const char *dense_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_dense_compressed_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected x, weights, bias and scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && x->rank >= 1 && nnacl_plan_count(x) >= 0,
                  "x must be f32 with at least one dimension");
    NNACL_REQUIRE(w->rank == 2, "weights must be two-dimensional");
    p->units = w->dims[0];
    p->depth = x->dims[x->rank - 1];
    NNACL_REQUIRE(p->units >= 1 && p->depth >= 1, "there are no units, or they have no inputs");
    p->rows = (int32_t)(nnacl_plan_count(x) / p->depth);
    int32_t dims[NNACL_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) {
        dims[i] = i < x->rank - 1 ? x->dims[i] : p->units;
    }
    NNACL_REQUIRE(nnacl_plan_output(&out[0], NNACL_F32, x->rank, dims), "y would have too many elements");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    return check_compressed(in, n_in, p->units, p->depth, p->bits, p->group);
}

/* One row of weights as real numbers. */
static size_t dense_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_compressed_params *p = params;
    (void)kernel;
    return (size_t)p->depth * sizeof(float);
}

static int32_t dense_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_compressed_params *p = params;
    (void)kernel;
    return p->units;
}

static int64_t dense_macs(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return (int64_t)p->rows * p->depth * p->units;
}

const nnacl_op nnacl_dense_compressed_op = {
    .name = "dense_compressed",
    .params_name = "nnacl_dense_compressed_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_dense_compressed_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = dense_resize,
    .workspace = dense_workspace,
    .parts = dense_parts,
    .macs = dense_macs,
};
