/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of conv3d and conv_transpose. */
#include "volume/volume.h"

#include "common/plan_check.h"
#include "nnacl_kernels.h"
#include "volume/volume_panels.h"

/* Takes sizes and channels from x and the kernel sizes from the weights. */
static const char *read_shapes(nnacl_conv_nd_params *p, const nnacl_tensor *in, int32_t n_in, int32_t n_out) {
    NNACL_REQUIRE(n_in >= 2 && n_in <= 5 && n_out == 1,
                  "expected x, weights, bias, requant and w_zeros, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE(x->rank >= 3 && x->rank <= 5 && w->rank == x->rank,
                  "x and weights must have one to three spatial dimensions");
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0 && nnacl_plan_count(w) >= 0, "x or weights have too many elements");
    const int32_t absent = 5 - x->rank;
    for (int32_t i = 0; i < 3; i++) {
        const bool present = i >= absent;
        NNACL_REQUIRE(p->stride[i] >= 1 && p->dilation[i] >= 1, "a stride or dilation is less than 1");
        NNACL_REQUIRE(present || (p->stride[i] == 1 && p->dilation[i] == 1 && !p->pad_before[i] && !p->pad_after[i]),
                      "an attribute of a dimension that x does not have is set");
        p->in_size[i] = present ? x->dims[1 + i - absent] : 1;
        p->kernel[i] = present ? w->dims[i - absent] : 1;
    }
    p->batch = x->dims[0];
    p->in_c = x->dims[x->rank - 1];
    return NULL;
}

/* Sets the type of y and checks bias, requant and the attributes of the arithmetic. */
static const char *finish(nnacl_conv_nd_params *p, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out) {
    const nnacl_tensor *x = &in[0], *bias = nnacl_plan_input(in, n_in, 2);
    int32_t dims[5] = {p->batch};
    for (int32_t i = 1; i < x->rank - 1; i++) {
        dims[i] = p->out_size[4 - x->rank + i];
    }
    dims[x->rank - 1] = p->out_c;
    NNACL_REQUIRE(nnacl_plan_output(&out[0], x->dtype, x->rank, dims), "y would have too many elements");
    p->has_bias = p->has_w_zeros = 0;
    if (x->dtype == NNACL_F32) {
        p->has_bias = bias != NULL;
        NNACL_REQUIRE(in[1].dtype == NNACL_F32, "weights must be f32 as x is");
        NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->out_c), "bias must be f32 [output channels]");
        NNACL_REQUIRE(!nnacl_plan_input(in, n_in, 3) && !nnacl_plan_input(in, n_in, 4),
                      "requant and w_zeros are for integers only");
        NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
        return NULL;
    }
    NNACL_REQUIRE((x->dtype == NNACL_S8 || x->dtype == NNACL_S16) && in[1].dtype == NNACL_S8,
                  "x must be f32, s8 or s16, and weights s8 where x is an integer");
    NNACL_REQUIRE(p->groups == 1, "integers have one group");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, x->dtype) && nnacl_plan_zero_ok(p->w_zero, NNACL_S8) &&
                      nnacl_plan_zero_ok(p->y_zero, x->dtype),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, x->dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    return nnacl_plan_weighted(in, n_in, p->out_c, p->rounding, &p->has_bias, &p->has_w_zeros);
}

static const char *conv3d_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_conv_nd_params *p = params;
    const char *message = read_shapes(p, in, n_in, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].rank == 5 && in[0].dtype == NNACL_F32, "x must be f32 [batch, depth, height, width, channels]");
    const int32_t *w = in[1].dims;
    p->out_c = w[4];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE(p->groups >= 1 && p->in_c % p->groups == 0 && p->out_c % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(w[3] == p->in_c / p->groups, "weights must be [kernel.., input channels / groups, output channels]");
    for (int32_t i = 0; i < 3; i++) {
        message = nnacl_plan_window(p->in_size[i], p->pad_before[i], p->pad_after[i], p->kernel[i], p->stride[i],
                                    p->dilation[i], &p->out_size[i]);
        NNACL_REQUIRE(!message, message);
    }
    return finish(p, in, n_in, out);
}

static const char *conv_transpose_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                         int32_t n_out) {
    nnacl_conv_nd_params *p = params;
    const char *message = read_shapes(p, in, n_in, n_out);
    NNACL_REQUIRE(!message, message);
    const int32_t *w = in[1].dims, rank = in[1].rank;
    NNACL_REQUIRE(p->groups >= 1 && p->in_c >= 1 && p->in_c % p->groups == 0,
                  "groups does not divide the input channels");
    NNACL_REQUIRE(w[rank - 2] == p->in_c && w[rank - 1] >= 1 && w[rank - 1] <= INT32_MAX / p->groups,
                  "weights must be [kernel.., input channels, output channels / groups]");
    p->out_c = w[rank - 1] * p->groups;
    for (int32_t i = 0; i < 3; i++) {
        NNACL_REQUIRE(p->in_size[i] >= 1 && p->kernel[i] >= 1, "a dimension of the input or of the kernel is 0");
        NNACL_REQUIRE(p->pad_before[i] >= 0 && p->pad_after[i] > -INT32_MAX, "a padding is out of range");
        const int64_t reach =
            ((int64_t)p->in_size[i] - 1) * p->stride[i] + ((int64_t)p->kernel[i] - 1) * p->dilation[i];
        const int64_t size = reach + 1 - p->pad_before[i] - p->pad_after[i];
        NNACL_REQUIRE(reach < INT32_MAX - (int64_t)p->pad_before[i] && size >= 1 && size <= INT32_MAX - reach,
                      "a dimension of y would be impossible");
        p->out_size[i] = (int32_t)size;
    }
    return finish(p, in, n_in, out);
}

static int32_t conv_nd_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv_nd_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_size[0] * p->out_size[1] : 1;
}

/* The AVX2 kernels copy the windows of six output positions and read the weights in panels. */
#define AVX2_POSITIONS 6

static size_t conv_nd_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv_nd_params *p = params;
    if (kernel->isa == NNACL_ISA_AVX2) {
        const size_t taps = (size_t)p->kernel[0] * (size_t)p->kernel[1] * (size_t)p->kernel[2];
        return AVX2_POSITIONS * taps * (size_t)(p->in_c / p->groups) * sizeof(float);
    }
    /* The sums of one output position. */
    return kernel->dtype == NNACL_F32
               ? 0
               : (size_t)p->out_c * (kernel->dtype == NNACL_S8 ? sizeof(int32_t) : sizeof(int64_t));
}

static size_t conv_nd_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv_nd_params *p = params;
    const bool packs = kernel->isa == NNACL_ISA_AVX2 && index == 1;
    return packs ? (size_t)p->groups * nnacl_volume_group_size(p) * sizeof(float) : 0;
}

static void conv3d_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                        void *packed) {
    const nnacl_conv_nd_params *p = params;
    const int32_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2], width = p->out_c / p->groups;
    const int32_t depth = taps * (p->in_c / p->groups);
    (void)kernel;
    for (int32_t group = 0; group < p->groups; group++) {
        nnacl_volume_pack_tap((const float *)in[index] + group * width, depth, width, p->out_c,
                              (float *)packed + (size_t)group * nnacl_volume_group_size(p),
                              (ptrdiff_t)depth * NNACL_PANEL_F32);
    }
}

/* Packs the kernel positions of one group, each behind those of its class that come before it. */
static void pack_classes(const nnacl_conv_nd_params *p, const float *weights, float *packed) {
    const int32_t channels = p->in_c / p->groups, width = p->out_c / p->groups;
    const ptrdiff_t row = (ptrdiff_t)channels * NNACL_PANEL_F32, panels = nnacl_panel_count(width, NNACL_PANEL_F32);
    const int32_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    for (int32_t tap = 0; tap < taps; tap++) {
        const int32_t at[3] = {tap / p->kernel[2] / p->kernel[1], tap / p->kernel[2] % p->kernel[1],
                               tap % p->kernel[2]};
        int32_t residue[3], place[3];
        for (int32_t i = 0; i < 3; i++) {
            residue[i] = (int32_t)((int64_t)at[i] * p->dilation[i] % p->stride[i]);
            place[i] = 0;
            for (int32_t k = 0; k < at[i]; k++) {
                place[i] += (int64_t)k * p->dilation[i] % p->stride[i] == residue[i];
            }
        }
        const nnacl_volume_class c = nnacl_volume_class_of(p, residue);
        const ptrdiff_t size = (ptrdiff_t)c.taps[0] * c.taps[1] * c.taps[2] * row;
        const ptrdiff_t number = ((ptrdiff_t)place[0] * c.taps[1] + place[1]) * c.taps[2] + place[2];
        nnacl_volume_pack_tap(weights + (ptrdiff_t)tap * p->in_c * width, channels, width, width,
                              packed + c.before * row * panels + number * row, size);
    }
}

static void conv_transpose_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                                void *packed) {
    const nnacl_conv_nd_params *p = params;
    const int32_t channels = p->in_c / p->groups, width = p->out_c / p->groups;
    (void)kernel;
    for (int32_t group = 0; group < p->groups; group++) {
        pack_classes(p, (const float *)in[index] + (ptrdiff_t)group * channels * width,
                     (float *)packed + (size_t)group * nnacl_volume_group_size(p));
    }
}

bool nnacl_conv_nd_accepts_panels(const void *params) {
    const nnacl_conv_nd_params *p = params;
    return p->out_c / p->groups >= 8;
}

bool nnacl_conv_transpose_accepts_rows(const void *params) {
    const nnacl_conv_nd_params *p = params;
    return p->groups == 1 && (p->out_c == 1 || p->out_c >= 4);
}

bool nnacl_conv_transpose_accepts_columns(const void *params) {
    const nnacl_conv_nd_params *p = params;
    return p->groups == 1 && p->w_zero == 0 && !p->has_w_zeros && p->out_c >= 4;
}

static int64_t conv3d_macs(const void *params) {
    const nnacl_conv_nd_params *p = params;
    int64_t macs = (int64_t)p->batch * p->out_c * (p->in_c / p->groups);
    for (int32_t i = 0; i < 3; i++) {
        macs *= (int64_t)p->out_size[i] * p->kernel[i];
    }
    return macs;
}

static int64_t conv_transpose_macs(const void *params) {
    const nnacl_conv_nd_params *p = params;
    int64_t macs = (int64_t)p->batch * p->in_c * (p->out_c / p->groups);
    for (int32_t i = 0; i < 3; i++) {
        macs *= (int64_t)p->in_size[i] * p->kernel[i];
    }
    return macs;
}

const nnacl_op nnacl_conv3d_op = {
    .name = "conv3d",
    .params_name = "nnacl_conv_nd_params",
    .header = "volume/volume.h",
    .params_size = sizeof(nnacl_conv_nd_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv3d_resize,
    .workspace = conv_nd_workspace,
    .packed_size = conv_nd_packed_size,
    .pack = conv3d_pack,
    .parts = conv_nd_parts,
    .macs = conv3d_macs,
};

const nnacl_op nnacl_conv_transpose_op = {
    .name = "conv_transpose",
    .params_name = "nnacl_conv_nd_params",
    .header = "volume/volume.h",
    .params_size = sizeof(nnacl_conv_nd_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv_transpose_resize,
    .workspace = conv_nd_workspace,
    .packed_size = conv_nd_packed_size,
    .pack = conv_transpose_pack,
    .parts = conv_nd_parts,
    .macs = conv_transpose_macs,
};
