/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_pack.h"
#include "common/plan_check.h"
#include "conv/conv_pack.h"
#include "conv/conv_runs.h"
#include "nnacl_kernels.h"
#include "quant/dynamic_pack.h"

/* What both ops need beside their shapes. */
static const char *check_dynamic(const nnacl_tensor *in, int32_t n_in, int32_t channels, float clamp_min,
                                 float clamp_max, int32_t asymmetric) {
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, channels), "bias must be f32 [output channels]");
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[3], NNACL_F32, channels), "w_scales must be f32 [output channels]");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(clamp_min, clamp_max), "clamp_min must not exceed clamp_max");
    NNACL_REQUIRE(asymmetric == 0 || asymmetric == 1, "asymmetric must be 0 or 1");
    return NULL;
}

static const char *conv_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_conv2d_dynamic_params *p = params;
    NNACL_REQUIRE(n_in == 4 && n_out == 1, "expected x, weights, bias and w_scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE(nnacl_plan_is(x, NNACL_F32, 4), "x must be f32 [batch, height, width, channels]");
    NNACL_REQUIRE(nnacl_plan_is(w, NNACL_S8, 4), "weights must be s8 with four dimensions");
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0 && nnacl_plan_count(w) >= 0, "x or weights have too many elements");
    p->batch = x->dims[0];
    p->in_h = x->dims[1];
    p->in_w = x->dims[2];
    p->in_c = x->dims[3];
    p->out_c = w->dims[0];
    p->kernel_h = w->dims[1];
    p->kernel_w = w->dims[2];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE(p->groups >= 1 && p->in_c % p->groups == 0 && p->out_c % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(w->dims[3] == p->in_c / p->groups,
                  "weights must be [output channels, height, width, input channels / groups]");
    NNACL_REQUIRE_WINDOWS(p);
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    NNACL_REQUIRE(nnacl_plan_output(&out[0], NNACL_F32, 4, dims), "y would have too many elements");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    return check_dynamic(in, n_in, p->out_c, p->clamp_min, p->clamp_max, p->asymmetric);
}

bool nnacl_conv2d_dynamic_accepts_dsp(const void *params) {
    const nnacl_conv2d_dynamic_params *p = params;
    return p->groups == 1 && p->out_c >= 2;
}

/* One batch entry of x as s8; before it, for the DSP extension, what conv2d of s8 needs there. */
static size_t conv_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_dynamic_params *p = params;
    const nnacl_conv2d_params shape = nnacl_dynamic_shape(p);
    return (size_t)p->in_h * (size_t)p->in_w * (size_t)p->in_c +
           (kernel->isa == NNACL_ISA_DSP ? nnacl_conv2d_dsp_workspace(&shape, false) : 0);
}

static size_t conv_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_dynamic_params *p = params;
    const nnacl_conv2d_params shape = nnacl_dynamic_shape(p);
    if (kernel->isa != NNACL_ISA_DSP || (index != 1 && index != 3)) {
        return 0;
    }
    return index == 3 ? NNACL_PACKED_ELSEWHERE
                      : (size_t)nnacl_gemm_pairs(p->out_c) * ((size_t)nnacl_runs_units(nnacl_conv2d_runs(&shape)) * 4 +
                                                              2 * sizeof(nnacl_dynamic_channel));
}

static void conv_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                      void *packed) {
    const nnacl_conv2d_dynamic_params *p = params;
    const nnacl_conv2d_params shape = nnacl_dynamic_shape(p);
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    char *to = packed;
    (void)kernel, (void)index;
    for (int32_t pair = 0; pair < nnacl_gemm_pairs(p->out_c); pair++) {
        const int32_t a = pair * 2 + 1 < p->out_c ? pair * 2 : p->out_c - 2;
        const int8_t *w = (const int8_t *)in[1] + (ptrdiff_t)a * depth;
        to = nnacl_gemm_pack_pair(w, depth, nnacl_conv2d_runs(&shape), to);
        for (int32_t i = 0; i < 2; i++) {
            nnacl_dynamic_channel channel = {((const float *)in[3])[a + i], 0};
            for (int32_t j = 0; j < depth; j++) {
                channel.sum += *w++;
            }
            memcpy(to, &channel, sizeof channel);
            to += sizeof channel;
        }
    }
}

static int32_t conv_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_dynamic_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

static int64_t conv_macs(const void *params) {
    const nnacl_conv2d_dynamic_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}

const nnacl_op nnacl_conv2d_dynamic_op = {
    .name = "conv2d_dynamic",
    .params_name = "nnacl_conv2d_dynamic_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_conv2d_dynamic_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv_resize,
    .workspace = conv_workspace,
    .packed_size = conv_packed_size,
    .pack = conv_pack,
    .parts = conv_parts,
    .macs = conv_macs,
};

static const char *dense_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_dense_dynamic_params *p = params;
    NNACL_REQUIRE(n_in == 4 && n_out == 1, "expected x, weights, bias and w_scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && x->rank >= 1 && nnacl_plan_count(x) >= 0,
                  "x must be f32 with at least one dimension");
    NNACL_REQUIRE(nnacl_plan_is(w, NNACL_S8, 2) && nnacl_plan_count(w) >= 0, "weights must be s8 [units, depth]");
    p->units = w->dims[0];
    p->depth = w->dims[1];
    NNACL_REQUIRE(p->units >= 1 && p->depth >= 1, "there are no units, or they have no inputs");
    NNACL_REQUIRE(x->dims[x->rank - 1] == p->depth, "the last dimension of x must be the depth of the weights");
    p->rows = (int32_t)(nnacl_plan_count(x) / p->depth);
    NNACL_REQUIRE(nnacl_plan_output_units(&out[0], x, p->units), "y would have too many elements");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    return check_dynamic(in, n_in, p->units, p->clamp_min, p->clamp_max, p->asymmetric);
}

/* One row of x as s8; for the DSP extension also in 16 bits. */
static size_t dense_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_dynamic_params *p = params;
    return (size_t)p->depth * (kernel->isa == NNACL_ISA_DSP ? 3 : 1);
}

static int32_t dense_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_dynamic_params *p = params;
    (void)kernel;
    return p->units;
}

static int64_t dense_macs(const void *params) {
    const nnacl_dense_dynamic_params *p = params;
    return (int64_t)p->rows * p->depth * p->units;
}

const nnacl_op nnacl_dense_dynamic_op = {
    .name = "dense_dynamic",
    .params_name = "nnacl_dense_dynamic_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_dense_dynamic_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = dense_resize,
    .workspace = dense_workspace,
    .parts = dense_parts,
    .macs = dense_macs,
};
