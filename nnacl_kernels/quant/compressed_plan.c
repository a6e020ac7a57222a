/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lead.h"
#include "common/panels.h"
#include "common/plan_check.h"
#include "conv/conv_pack.h"
#include "conv/depthwise_axes.h"
#include "nnacl_kernels.h"
#include "quant/packed_bfloat.h"
#include "quant/packed_bytes.h"
#include "quant/packed_columns.h"
#include "quant/packed_mve.h"
#include "quant/packed_mve_pack.h"
#include "quant/packed_pack.h"
#include "quant/quant.h"

static const char *check_codes(const nnacl_packed_layer *s) {
    if (s->step == 0) {
        NNACL_REQUIRE(s->bits >= 4 && s->offset == 0, "weights of 1 and 2 bits need a step, an offset goes with one");
        return NULL;
    }
    NNACL_REQUIRE(s->bits < 8, "weights of 8 and 16 bits have no offset and step");
    NNACL_REQUIRE(s->step >= 1 && s->step <= 256, "step must be within 1 .. 256");
    NNACL_REQUIRE(s->offset >= -256 && s->offset <= 256, "offset must be within -256 .. 256");
    return NULL;
}

/* Scales and bias of layers of real numbers. */
static const char *check_real(const nnacl_tensor *in, int32_t n_in, int64_t depth, const nnacl_packed_layer *s) {
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2), *scales = nnacl_plan_input(in, n_in, 3);
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, s->out_c), "bias must be f32 [output channels]");
    if (s->bits == 16) {
        NNACL_REQUIRE(!scales, "weights of 16 bits have no scales");
        return NULL;
    }
    NNACL_REQUIRE(s->group >= 0, "group must not be negative");
    const int64_t groups = s->group > 0 ? (depth - 1) / s->group + 1 : 1;
    NNACL_REQUIRE(scales && nnacl_plan_is(scales, NNACL_F32, 2) && scales->dims[0] == s->out_c &&
                      scales->dims[1] == groups,
                  "scales must be f32 [output channels, groups]");
    return NULL;
}

/* Bias and requant of layers of integers. */
static const char *check_whole(const nnacl_tensor *in, int32_t n_in, const nnacl_packed_layer *s) {
    const nnacl_tensor *bias = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(s->bits < 8 && s->group == 0, "with x of s8 weights have 1, 2 or 4 bits and no groups");
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_S32, s->out_c), "bias must be s32 [output channels]");
    NNACL_REQUIRE(nnacl_plan_zero_ok(s->x_zero, NNACL_S8) && nnacl_plan_zero_ok(s->y_zero, NNACL_S8),
                  "a zero point is outside the range of the type");
    NNACL_REQUIRE(nnacl_plan_range_ok(s->q_min, s->q_max, NNACL_S8), "q_min .. q_max is not a range within the type");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(s->rounding), "unknown rounding contract");
    return nnacl_plan_requant(nnacl_plan_input(in, n_in, 3), s->out_c, s->rounding);
}

/* Weights [out_c, ...] of rows of `depth` numbers, bias and scales. */
static const char *check_compressed(const nnacl_tensor *in, int32_t n_in, int64_t depth, const nnacl_packed_layer *s) {
    NNACL_REQUIRE(s->bits == 1 || s->bits == 2 || s->bits == 4 || s->bits == 8 || s->bits == 16,
                  "bits must be 1, 2, 4, 8 or 16");
    NNACL_REQUIRE(depth >= 1 && depth <= INT32_MAX / 4, "the rows of the weights are too long");
    NNACL_REQUIRE(s->bfloat >= NNACL_BFLOAT_NONE && s->bfloat <= (s->bits == 16 ? NNACL_BFLOAT_PRODUCTS : 0),
                  "bfloat must be 0, 1 or 2, and 0 with fewer than 16 bits");
    const nnacl_tensor *w = &in[1];
    const int32_t dtype = s->bits < 8 ? NNACL_U8 : s->bits == 8 ? NNACL_S8 : s->bfloat ? NNACL_U16 : NNACL_F16;
    NNACL_REQUIRE(nnacl_plan_is(w, dtype, 2) && nnacl_plan_count(w) >= 0,
                  "weights must be two-dimensional, u8 with up to 4 bits, s8 with 8, f16 or u16 with 16");
    NNACL_REQUIRE(w->dims[1] == (s->bits < 8 ? (depth * s->bits + 7) / 8 : depth),
                  "weights do not have the depth of x");
    const char *message = check_codes(s);
    if (message) {
        return message;
    }
    return in[0].dtype == NNACL_S8 ? check_whole(in, n_in, s) : check_real(in, n_in, depth, s);
}

static int64_t conv_depth(const nnacl_conv2d_compressed_params *p) {
    return (int64_t)p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}

static const char *conv_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_conv2d_compressed_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected x, weights, bias and scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE((x->dtype == NNACL_F32 || x->dtype == NNACL_S8) && x->rank == 4 && nnacl_plan_count(x) >= 0,
                  "x must be f32 or s8 [batch, height, width, channels]");
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
    NNACL_REQUIRE_WINDOWS(p);
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    NNACL_REQUIRE(nnacl_plan_output(&out[0], x->dtype, 4, dims), "y would have too many elements");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    const nnacl_packed_layer layer = nnacl_packed_conv(p);
    return check_compressed(in, n_in, conv_depth(p), &layer);
}

bool nnacl_conv2d_compressed_accepts_dsp(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return p->groups == 1 && p->out_c >= 2;
}

bool nnacl_conv2d_compressed_accepts_mve(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return p->groups == 1 && nnacl_packed_mve_takes(p->bits, p->step);
}

bool nnacl_dense_compressed_accepts_mve(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return nnacl_packed_mve_takes(p->bits, p->step);
}

static bool accepts_words(int32_t bits, int32_t group, int64_t depth) {
    if (depth >= 1 << 24 || nnacl_packed_has_bytes(bits, group, (int32_t)depth)) {
        return false;
    }
    return bits == 16 || group == 0 || group % (32 / bits) == 0;
}

bool nnacl_conv2d_compressed_accepts_words(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return p->groups == 1 && accepts_words(p->bits, p->group, conv_depth(p));
}

bool nnacl_dense_compressed_accepts_words(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return accepts_words(p->bits, p->group, p->depth);
}

bool nnacl_conv2d_compressed_accepts_bytes(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    const int64_t depth = conv_depth(p);
    return p->groups == 1 && depth < 1 << 24 && nnacl_packed_has_bytes(p->bits, p->group, (int32_t)depth);
}

bool nnacl_dense_compressed_accepts_bytes(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return p->depth < 1 << 24 && nnacl_packed_has_bytes(p->bits, p->group, p->depth);
}

bool nnacl_conv2d_compressed_accepts_bfloat(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return p->bfloat == NNACL_BFLOAT_PRODUCTS && p->groups == 1 && conv_depth(p) < 1 << 24;
}

bool nnacl_dense_compressed_accepts_bfloat(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return p->bfloat == NNACL_BFLOAT_PRODUCTS && p->depth < 1 << 24;
}

/* The kernels that multiply bfloat16. */
static bool multiplies_bfloat(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_AVX512BF16 | NNACL_ISA_BF16)) != 0;
}

/* The kernels that decode panels of bytes. */
static bool decodes_bytes(const nnacl_kernel *kernel, const nnacl_packed_layer *p, int32_t depth) {
    const uint32_t sets = NNACL_ISA_AVX512 | NNACL_ISA_AVX2 | NNACL_ISA_NEON;
    return (kernel->isa & sets) != 0 && kernel->dtype == NNACL_F32 && nnacl_packed_has_bytes(p->bits, p->group, depth);
}

/* One row of weights as real numbers, or as integers of 16 bits, and x where it is rounded; or the windows of some
 * positions. */
static size_t compressed_workspace(const nnacl_kernel *kernel, const nnacl_packed_layer *p, int64_t depth) {
    if (kernel->isa == NNACL_ISA_C) {
        const size_t inputs = (size_t)p->batch * (size_t)p->in_h * (size_t)p->in_w * (size_t)p->in_c;
        return ((size_t)depth + (p->bfloat == NNACL_BFLOAT_PRODUCTS ? inputs : 0)) *
               (kernel->dtype == NNACL_S8 ? sizeof(int16_t) : sizeof(float));
    }
    if (multiplies_bfloat(kernel)) {
        return nnacl_packed_bfloat_workspace(p, (int32_t)depth);
    }
    if (decodes_bytes(kernel, p, (int32_t)depth)) {
        return nnacl_packed_bytes_workspace(p, (int32_t)depth);
    }
    if (kernel->dtype == NNACL_F32) {
        return (size_t)depth * NNACL_PACKED_POSITIONS * sizeof(float);
    }
    const bool few = (int64_t)p->batch * p->out_h * p->out_w < NNACL_PACKED_POSITIONS;
    return nnacl_packed_workspace(p, few && kernel->isa == NNACL_ISA_DSP ? 1 : NNACL_PACKED_POSITIONS);
}

/* Whether the constants are read as packed_pack.h says. */
static bool has_lines(const nnacl_kernel *kernel, int32_t index) {
    return kernel->isa == NNACL_ISA_DSP && index > 0;
}

/* Whether the weights are read in panels of halves. */
static bool has_panels(const nnacl_kernel *kernel, int32_t bits, int32_t index) {
    return kernel->isa == NNACL_ISA_AVX2 && bits == 16 && index == 1;
}

static size_t packed_size(const nnacl_kernel *kernel, const nnacl_packed_layer *layer, int32_t depth, int32_t index) {
    if (multiplies_bfloat(kernel)) {
        return index == 1 ? nnacl_panels_bfloat_size(layer->out_c, depth) : 0;
    }
    if (decodes_bytes(kernel, layer, depth)) {
        return index == 1 ? nnacl_packed_bytes_size(layer->out_c, depth) : 0;
    }
    if (has_panels(kernel, layer->bits, index)) {
        return nnacl_columns_f16_size(layer->out_c, depth, NNACL_PACKED_HALVES);
    }
    return has_lines(kernel, index) ? nnacl_packed_lines_size(layer, depth, index) : 0;
}

static void pack(const nnacl_kernel *kernel, const nnacl_packed_layer *layer, int32_t depth, int32_t index,
                 const void *const in[], void *packed) {
    if (multiplies_bfloat(kernel)) {
        nnacl_pack_panels_bfloat(in[1], layer->out_c, depth, packed);
        return;
    }
    if (decodes_bytes(kernel, layer, depth)) {
        nnacl_packed_bytes_pack(in[1], layer->out_c, depth, packed);
        return;
    }
    if (has_panels(kernel, layer->bits, index)) {
        nnacl_pack_columns_f16(in[1], layer->out_c, depth, depth, NNACL_PACKED_HALVES, packed);
        uint16_t *halves = packed;
        const size_t count = nnacl_columns_f16_size(layer->out_c, depth, NNACL_PACKED_HALVES) / sizeof *halves;
        for (size_t i = 0; layer->bfloat != NNACL_BFLOAT_NONE && i < count; i++) {
            halves[i] = nnacl_bfloat_flushed(halves[i]);
        }
    } else {
        nnacl_packed_lines_pack(layer, depth, in, packed);
    }
}

static size_t conv_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    if (kernel->isa == NNACL_ISA_MVE) {
        return index > 0 ? nnacl_packed_conv_mve_size(params, index) : 0;
    }
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    return packed_size(kernel, &layer, (int32_t)conv_depth(params), index);
}

static void conv_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                      void *packed) {
    if (kernel->isa == NNACL_ISA_MVE) {
        nnacl_packed_conv_mve_pack(params, in, packed);
        return;
    }
    const nnacl_packed_layer layer = nnacl_packed_conv(params);
    pack(kernel, &layer, (int32_t)conv_depth(params), index, in, packed);
}

static size_t dense_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    if (kernel->isa == NNACL_ISA_MVE) {
        return index > 0 ? nnacl_packed_dense_mve_size(params, index) : 0;
    }
    const nnacl_packed_layer layer = nnacl_packed_dense(params);
    return packed_size(kernel, &layer, layer.in_c, index);
}

static void dense_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                       void *packed) {
    if (kernel->isa == NNACL_ISA_MVE) {
        nnacl_packed_dense_mve_pack(params, in, packed);
        return;
    }
    const nnacl_packed_layer layer = nnacl_packed_dense(params);
    pack(kernel, &layer, layer.in_c, index, in, packed);
}

static int32_t compressed_parts(const nnacl_kernel *kernel, const nnacl_packed_layer *p, int32_t depth) {
    const int32_t positions = p->batch * p->out_h * p->out_w, channels = p->out_c;
    if (kernel->isa == NNACL_ISA_C) {
        return channels;
    }
    if (kernel->isa == NNACL_ISA_DSP) {
        return positions > 0 ? positions : 1;
    }
    if (multiplies_bfloat(kernel) || decodes_bytes(kernel, p, depth)) {
        return nnacl_packed_block_parts(positions, channels);
    }
    return nnacl_packed_by_positions(positions) ? positions / NNACL_PACKED_POSITIONS : (channels + 7) / 8;
}

static size_t conv_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_compressed_params *p = params;
    const nnacl_packed_layer layer = nnacl_packed_conv(p);
    if (kernel->isa == NNACL_ISA_MVE) {
        return nnacl_packed_conv_mve_workspace(p);
    }
    if (kernel->isa == NNACL_ISA_DSP && p->groups > 1) { /* four channels of weights, and where the taps are */
        return (size_t)conv_depth(p) * 12;
    }
    return compressed_workspace(kernel, &layer, conv_depth(p));
}

static int32_t conv_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_compressed_params *p = params;
    if (kernel->isa == NNACL_ISA_MVE) {
        return p->batch * p->out_h;
    }
    const nnacl_packed_layer layer = nnacl_packed_conv(p);
    return compressed_parts(kernel, &layer, (int32_t)conv_depth(p));
}

/* The kernel for the DSP extension copies windows before it computes them, that for MVE copies those whose runs it
 * joins and else computes two positions where they are. */
static nnacl_lead conv_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_compressed_params *p = params;
    const bool is_mve = kernel->isa == NNACL_ISA_MVE;
    if (index != 0 || (kernel->isa != NNACL_ISA_DSP && !is_mve) || p->groups > 1) {
        return nnacl_lead_none();
    }
    const nnacl_lead_window window = {NNACL_LEAD_SAME(p), .in_bytes = p->in_c, .out_bytes = p->out_c,
                                      .ahead = is_mve && !nnacl_packed_conv_mve_copies(p) ? 2 : 0};
    return nnacl_window_lead(&window);
}

static int64_t conv_macs(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * conv_depth(p);
}

const nnacl_op nnacl_conv2d_compressed_op = {
    .name = "conv2d_compressed",
    .params_name = "nnacl_conv2d_compressed_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_conv2d_compressed_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv_resize,
    .workspace = conv_workspace,
    .packed_size = conv_packed_size,
    .pack = conv_pack,
    .parts = conv_parts,
    .lead = conv_lead,
    .macs = conv_macs,
};

static const char *dense_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_dense_compressed_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected x, weights, bias and scales, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1];
    NNACL_REQUIRE((x->dtype == NNACL_F32 || x->dtype == NNACL_S8) && x->rank >= 1 && nnacl_plan_count(x) >= 0,
                  "x must be f32 or s8 with at least one dimension");
    NNACL_REQUIRE(w->rank == 2, "weights must be two-dimensional");
    p->units = w->dims[0];
    p->depth = x->dims[x->rank - 1];
    NNACL_REQUIRE(p->units >= 1 && p->depth >= 1, "there are no units, or they have no inputs");
    p->rows = (int32_t)(nnacl_plan_count(x) / p->depth);
    NNACL_REQUIRE(nnacl_plan_output_units(&out[0], x, p->units), "y would have too many elements");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
    p->has_bias = nnacl_plan_input(in, n_in, 2) != NULL;
    const nnacl_packed_layer layer = nnacl_packed_dense(p);
    return check_compressed(in, n_in, p->depth, &layer);
}

bool nnacl_conv2d_compressed_accepts_depthwise(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    return p->groups == p->in_c && p->groups == p->out_c && p->groups >= 4;
}

/* Codes that become bytes. */
bool nnacl_conv2d_compressed_accepts_depthwise_mve(const void *params) {
    const nnacl_conv2d_compressed_params *p = params;
    if (p->groups != p->in_c || p->groups != p->out_c || p->groups < 2 || p->bits > 4) {
        return false;
    }
    const nnacl_conv2d_params conv = nnacl_packed_as_conv(p);
    const int32_t offset = nnacl_packed_offset(p->offset, p->step), step = nnacl_packed_step(p->step);
    const bool fits = offset >= -128 && offset + step * ((1 << p->bits) - 1) <= 127;
    return fits && (nnacl_depthwise_sweeps(&conv, NNACL_ISA_MVE) ? nnacl_depthwise_axes_of(&conv).sweep.out < 1000
                                                                 : p->groups >= 8);
}

bool nnacl_dense_compressed_accepts_dsp(const void *params) {
    const nnacl_dense_compressed_params *p = params;
    return p->units >= 2;
}

static size_t dense_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_packed_layer layer = nnacl_packed_dense(params);
    if (kernel->isa == NNACL_ISA_MVE) {
        return 0;
    }
    return compressed_workspace(kernel, &layer, layer.in_c);
}

static int32_t dense_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_compressed_params *p = params;
    if (kernel->isa == NNACL_ISA_MVE) {
        return (p->units + 3) / 4;
    }
    const nnacl_packed_layer layer = nnacl_packed_dense(p);
    return compressed_parts(kernel, &layer, p->depth);
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
    .packed_size = dense_packed_size,
    .pack = dense_pack,
    .parts = dense_parts,
    .macs = dense_macs,
};
