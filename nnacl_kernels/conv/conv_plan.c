/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/conv.h"

#include "common/lead.h"
#include "common/panels.h"
#include "common/panels_pair.h"
#include "common/panels_quad.h"
#include "common/plan_check.h"
#include "conv/conv_arm.h"
#include "conv/conv_few.h"
#include "conv/conv_half.h"
#include "conv/conv_lines.h"
#include "conv/conv_pack.h"
#include "conv/conv_rows.h"
#include "conv/conv_runs.h"
#include "conv/conv_stripe.h"
#include "conv/depthwise_axes.h"
#include "conv/depthwise_quads.h"
#include "conv/winograd.h"
#include "nnacl_kernels.h"

/* The shapes, once out_c, kernel_h and kernel_w are known. */
static const char *resize_shapes(nnacl_conv2d_params *p, const nnacl_tensor *in, int32_t dtype, nnacl_tensor *out) {
    const nnacl_tensor *x = &in[0], *w = &in[1];
    p->batch = x->dims[0];
    p->in_h = x->dims[1];
    p->in_w = x->dims[2];
    p->in_c = x->dims[3];
    NNACL_REQUIRE(p->in_c >= 1 && p->out_c >= 1, "there are no channels");
    NNACL_REQUIRE_WINDOWS(p);
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0 && nnacl_plan_count(w) >= 0, "x or weights have too many elements");
    const int32_t dims[4] = {p->batch, p->out_h, p->out_w, p->out_c};
    NNACL_REQUIRE(nnacl_plan_output(&out[0], dtype, 4, dims), "y would have too many elements");
    p->has_bias = p->has_w_zeros = p->has_x_zero = 0;
    p->x_type = x->dtype;
    p->w_type = w->dtype;
    return NULL;
}

/* What conv2d and depthwise_conv2d share, once out_c, kernel_h and kernel_w are known. */
static const char *resize_common(nnacl_conv2d_params *p, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out) {
    const nnacl_tensor *x = &in[0], *w = &in[1], *bias = nnacl_plan_input(in, n_in, 2);
    const char *message = resize_shapes(p, in, x->dtype, out);
    if (message) {
        return message;
    }
    if (x->dtype == NNACL_F32 || x->dtype == NNACL_F16) {
        p->has_bias = bias != NULL;
        NNACL_REQUIRE(w->dtype == x->dtype, "weights must be f32 or f16 as x is");
        NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->out_c), "bias must be f32 [output channels]");
        NNACL_REQUIRE(!nnacl_plan_input(in, n_in, 3) && !nnacl_plan_input(in, n_in, 4),
                      "requant and w_zeros are for integers only");
        NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
        return NULL;
    }
    NNACL_REQUIRE(w->dtype == NNACL_S8, "weights must be s8 where x is s8 or s16");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, x->dtype) && nnacl_plan_zero_ok(p->w_zero, NNACL_S8) &&
                      nnacl_plan_zero_ok(p->y_zero, x->dtype),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, x->dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    return nnacl_plan_weighted(in, n_in, p->out_c, p->rounding, &p->has_bias, &p->has_w_zeros);
}

static const char *check_operands(const nnacl_tensor *in, int32_t n_in, int32_t n_out) {
    NNACL_REQUIRE(n_in >= 2 && n_in <= 5 && n_out == 1,
                  "expected x, weights, bias, requant and w_zeros, and one output");
    NNACL_REQUIRE(in[0].rank == 4 && (in[0].dtype == NNACL_F32 || in[0].dtype == NNACL_F16 || in[0].dtype == NNACL_S8 ||
                                      in[0].dtype == NNACL_S16),
                  "x must be f32, f16, s8 or s16 [batch, height, width, channels]");
    NNACL_REQUIRE(in[1].rank == 4, "weights must have four dimensions");
    return NULL;
}

/* Weights OHWI. */
static const char *check_groups(nnacl_conv2d_params *p, const nnacl_tensor *in) {
    const int32_t *w = in[1].dims;
    NNACL_REQUIRE(p->groups >= 1, "groups is less than 1");
    NNACL_REQUIRE(in[0].dims[3] % p->groups == 0 && w[0] % p->groups == 0,
                  "groups does not divide the input or the output channels");
    NNACL_REQUIRE(w[3] == in[0].dims[3] / p->groups,
                  "weights must be [output channels, height, width, input channels / groups]");
    p->out_c = w[0];
    p->kernel_h = w[1];
    p->kernel_w = w[2];
    return NULL;
}

static const char *conv2d_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    const char *message = check_operands(in, n_in, n_out);
    if (!message) {
        message = check_groups(params, in);
    }
    return message ? message : resize_common(params, in, n_in, out);
}

static const char *conv2d_integer_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                         int32_t n_out) {
    nnacl_conv2d_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected x, weights, x_zero and w_zeros, and one output");
    for (int32_t i = 0; i < 2; i++) {
        NNACL_REQUIRE(in[i].rank == 4 && (in[i].dtype == NNACL_S8 || in[i].dtype == NNACL_U8),
                      "x and weights must be s8 or u8 with four dimensions");
    }
    const char *message = check_groups(p, in);
    if (!message) {
        message = resize_shapes(p, in, NNACL_S32, out);
    }
    if (message) {
        return message;
    }
    const nnacl_tensor *x_zero = nnacl_plan_input(in, n_in, 2), *w_zeros = nnacl_plan_input(in, n_in, 3);
    const int64_t w_count = w_zeros ? nnacl_plan_count(w_zeros) : 0;
    NNACL_REQUIRE(!x_zero || (x_zero->dtype == NNACL_S32 && x_zero->rank <= 1 && nnacl_plan_count(x_zero) == 1),
                  "x_zero must be s32, one element");
    NNACL_REQUIRE(!w_zeros ||
                      (w_zeros->dtype == NNACL_S32 && w_zeros->rank <= 1 && (w_count == 1 || w_count == p->out_c)),
                  "w_zeros must be s32, one element or [output channels]");
    p->has_x_zero = x_zero != NULL;
    p->has_w_zeros = (int32_t)w_count;
    return NULL;
}

static const char *depthwise_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                    int32_t n_out) {
    nnacl_conv2d_params *p = params;
    const char *message = check_operands(in, n_in, n_out);
    if (message) {
        return message;
    }
    const int32_t *w = in[1].dims;
    NNACL_REQUIRE(w[0] == 1 && in[0].dims[3] >= 1 && w[3] % in[0].dims[3] == 0,
                  "weights must be [1, height, width, input channels * multiplier]");
    p->groups = in[0].dims[3];
    p->out_c = w[3];
    p->kernel_h = w[1];
    p->kernel_w = w[2];
    return resize_common(p, in, n_in, out);
}

static int32_t conv_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_params *p = params;
    (void)kernel;
    return p->batch > 0 ? p->batch * p->out_h : 1;
}

/* The f32 kernels for vectors (depthwise_f32_avx2.h) compute two rows at a time. */
static int32_t depthwise_parts(const void *params, const nnacl_kernel *kernel) {
    const uint32_t wide = NNACL_ISA_AVX2 | NNACL_ISA_AVX512 | NNACL_ISA_NEON;
    const int32_t rows = conv_parts(params, kernel);
    return kernel->dtype == NNACL_F32 && (kernel->isa & wide) != 0 ? (rows + 1) / 2 : rows;
}

/* The AVX2 kernels of conv2d copy the windows of six output positions and read the weights in panels. */
#define AVX2_POSITIONS 6

/* The kernels of conv2d for AVX-512, VNNI and halves, and those of f32 for AArch64, split their work by tiles of
 * positions or by panels. */
static bool lists_rows(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_AVX512 | NNACL_ISA_VNNI | NNACL_ISA_AVXVNNI | NNACL_ISA_FP16)) != 0 ||
           (kernel->isa == NNACL_ISA_NEON && kernel->dtype == NNACL_F32);
}

/* The kernels of s8 for x86 that multiply quads of bytes. */
static bool reads_quads(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_VNNI | NNACL_ISA_AVXVNNI)) != 0;
}

/* Rows of a tile and floats in a vector of the kernels by Winograd. */
static nnacl_winograd winograd_for(const nnacl_conv2d_params *p, uint32_t isa) {
    const int32_t rows = isa == NNACL_ISA_AVX512 ? NNACL_CONV_TILE
                         : isa == NNACL_ISA_NEON ? NNACL_CONV_TILE_NEON
                                                 : AVX2_POSITIONS;
    return nnacl_winograd_of(p, rows, isa == NNACL_ISA_AVX512 ? 16 : 8);
}

static int32_t conv2d_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_params *p = params;
    if (kernel->accepts == nnacl_conv2d_accepts_few || kernel->accepts == nnacl_conv2d_accepts_lines) {
        return conv_parts(params, kernel);
    }
    if (nnacl_kernel_is_winograd(kernel)) {
        const nnacl_winograd winograd = winograd_for(p, kernel->isa);
        return nnacl_winograd_parts(&winograd);
    }
    if (kernel->isa == NNACL_ISA_AVX2 && kernel->dtype == NNACL_F32) {
        const int32_t count = nnacl_conv_tiles(p, AVX2_POSITIONS);
        return count > 0 ? count : 1;
    }
    if (!lists_rows(kernel)) {
        return conv_parts(params, kernel);
    }
    const int32_t rows = kernel->dtype == NNACL_F16         ? NNACL_CONV_TILE_F16
                         : kernel->isa == NNACL_ISA_NEON    ? NNACL_CONV_TILE_NEON
                         : kernel->isa == NNACL_ISA_AVXVNNI ? NNACL_CONV_TILE_AVXVNNI
                                                            : NNACL_CONV_TILE;
    const int32_t tiles = nnacl_conv_tiles(p, rows);
    const int32_t panels = nnacl_panel_count(p->out_c / p->groups, NNACL_PANEL_F32);
    return tiles > 0 ? tiles * nnacl_conv_chunks(p, tiles, panels) : 1;
}

static size_t window_size(const nnacl_conv2d_params *p) {
    return (size_t)p->kernel_h * (size_t)p->kernel_w * (size_t)(p->in_c / p->groups);
}

/* Kernels of f32 that read weights in columns of four, as they are read by a small floating-point unit. */
static bool reads_columns(const nnacl_kernel *kernel) {
    return kernel->isa == NNACL_ISA_VFP || (kernel->isa == NNACL_ISA_MVE && kernel->dtype == NNACL_F32);
}

/* The kernels of s8 for AArch64. */
static bool is_arm_s8(const nnacl_kernel *kernel) {
    return kernel->dtype == NNACL_S8 && (kernel->isa & (NNACL_ISA_NEON | NNACL_ISA_DOTPROD | NNACL_ISA_I8MM)) != 0;
}

/* The kernels of f16 beside the plain ones. */
static bool is_half_vector(const nnacl_kernel *kernel) {
    return kernel->dtype == NNACL_F16 && kernel->isa != NNACL_ISA_C;
}

/* The kernels of s8 for the DSP extension with compact lines. */
static bool is_compact(const nnacl_kernel *kernel) {
    return kernel->accepts == nnacl_conv2d_accepts_compact_dsp ||
           kernel->accepts == nnacl_depthwise_accepts_compact_dsp;
}

static size_t conv2d_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_conv2d_params *p = params;
    if (kernel->accepts == nnacl_conv2d_accepts_few) {
        return nnacl_conv_few_line(p) * (size_t)p->kernel_h * sizeof(float);
    }
    if (kernel->accepts == nnacl_conv2d_accepts_lines) {
        return nnacl_lines_workspace(p);
    }
    if (is_arm_s8(kernel)) {
        return nnacl_conv_arm_workspace(p, nnacl_arm_layout_of(kernel->isa));
    }
    if (reads_columns(kernel) || (is_half_vector(kernel) && kernel->isa == NNACL_ISA_MVE)) {
        return 0;
    }
    if (nnacl_kernel_is_winograd(kernel)) {
        const nnacl_winograd winograd = winograd_for(p, kernel->isa);
        return nnacl_winograd_workspace(&winograd);
    }
    if (kernel->isa == NNACL_ISA_DSP && kernel->dtype == NNACL_S16) {
        return nnacl_conv2d_s16_dsp_workspace(p);
    }
    if (kernel->isa == NNACL_ISA_MVE && kernel->dtype == NNACL_S16) { /* copies of two windows */
        return 4 * window_size(p);
    }
    if (kernel->isa == NNACL_ISA_DSP) {
        return nnacl_conv2d_dsp_workspace(p, is_compact(kernel));
    }
    if (kernel->isa == NNACL_ISA_MVE) {
        return nnacl_conv2d_mve_workspace(p);
    }
    if (lists_rows(kernel)) {
        return nnacl_conv_rows_workspace(nnacl_conv_rows_of(p, (int32_t)nnacl_dtype_size(kernel->dtype)));
    }
    if (kernel->isa != NNACL_ISA_AVX2) {
        return 0;
    }
    return kernel->dtype == NNACL_F32 ? AVX2_POSITIONS * window_size(p) * sizeof(float)
                                      : AVX2_POSITIONS * (window_size(p) + window_size(p) % 2) * sizeof(int16_t);
}

static size_t conv2d_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_params *p = params;
    if (kernel->accepts == nnacl_conv2d_accepts_lines) {
        const int32_t panels = nnacl_panel_count(p->out_c, 16);
        return index == 1 ? (size_t)panels * (size_t)nnacl_lines_panel(p) : 0;
    }
    if (is_half_vector(kernel)) {
        return index == 1 ? nnacl_conv_half_packed_size(p, kernel->isa) : 0;
    }
    if (is_arm_s8(kernel)) {
        return index == 1  ? nnacl_conv_arm_packed_size(p, nnacl_arm_layout_of(kernel->isa))
               : index > 1 ? NNACL_PACKED_ELSEWHERE
                           : 0;
    }
    if (reads_columns(kernel)) {
        return index == 1 ? nnacl_columns_f32_size(p->out_c, (int32_t)window_size(p), NNACL_PANEL_VFP) : 0;
    }
    if (nnacl_kernel_is_winograd(kernel)) {
        const nnacl_winograd winograd = winograd_for(p, kernel->isa);
        return index == 1 ? nnacl_winograd_packed_size(p, &winograd) : 0;
    }
    if (kernel->isa == NNACL_ISA_DSP && kernel->dtype == NNACL_S16) {
        return nnacl_conv2d_s16_dsp_packed_size(p, index);
    }
    if (kernel->isa == NNACL_ISA_MVE && kernel->dtype == NNACL_S16) {
        return 0;
    }
    if (kernel->isa == NNACL_ISA_DSP) {
        return index > 0 ? nnacl_conv2d_dsp_packed_size(p, index) : 0;
    }
    if (kernel->isa == NNACL_ISA_MVE) {
        return index > 0 ? nnacl_conv2d_mve_packed_size(p, index) : 0;
    }
    if ((kernel->isa != NNACL_ISA_AVX2 && !lists_rows(kernel)) || index != 1) {
        return 0;
    }
    const int32_t columns = p->out_c / p->groups, depth = (int32_t)window_size(p);
    return (size_t)p->groups * (kernel->dtype == NNACL_F32 ? nnacl_panels_f32_size(columns, depth)
                                : reads_quads(kernel)      ? nnacl_panels_quad_size(columns, depth)
                                                           : nnacl_panels_s8_size(columns, depth));
}

static void conv2d_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                        void *packed) {
    const nnacl_conv2d_params *p = params;
    if (kernel->accepts == nnacl_conv2d_accepts_lines) {
        nnacl_conv_lines_pack(p, in[index], packed);
        return;
    }
    if (is_half_vector(kernel)) {
        nnacl_conv_half_pack(p, kernel->isa, in[index], packed);
        return;
    }
    if (is_arm_s8(kernel)) {
        nnacl_conv_arm_pack(p, nnacl_arm_layout_of(kernel->isa), in, packed);
        return;
    }
    const int32_t columns = p->out_c / p->groups, depth = (int32_t)window_size(p);
    if (reads_columns(kernel)) {
        nnacl_pack_columns_f32(in[index], columns, depth, NNACL_PANEL_VFP, packed);
        return;
    }
    if (nnacl_kernel_is_winograd(kernel)) {
        const nnacl_winograd winograd = winograd_for(p, kernel->isa);
        nnacl_winograd_pack(p, &winograd, in[index], packed);
        return;
    }
    if (kernel->isa == NNACL_ISA_DSP && kernel->dtype == NNACL_S16) {
        nnacl_conv2d_s16_dsp_pack(p, in, packed);
        return;
    }
    if (kernel->isa == NNACL_ISA_DSP) {
        nnacl_conv2d_dsp_pack(p, is_compact(kernel), in, packed);
        return;
    }
    if (kernel->isa == NNACL_ISA_MVE) {
        nnacl_conv2d_mve_pack(p, in, packed);
        return;
    }
    for (int32_t group = 0; group < p->groups; group++) {
        const ptrdiff_t first = (ptrdiff_t)group * columns * depth;
        if (kernel->dtype == NNACL_F32) {
            const size_t size = nnacl_panels_f32_size(columns, depth) / sizeof(float);
            nnacl_pack_panels_f32((const float *)in[index] + first, columns, depth, (float *)packed + group * size);
        } else if (reads_quads(kernel)) {
            nnacl_pack_panels_quad((const int8_t *)in[index] + first, columns, depth, p->x_zero,
                                   (char *)packed + group * nnacl_panels_quad_size(columns, depth));
        } else {
            const size_t size = nnacl_panels_s8_size(columns, depth);
            nnacl_pack_panels_s8((const int8_t *)in[index] + first, columns, depth, (int8_t *)packed + group * size);
        }
    }
}

bool nnacl_conv2d_accepts_panels(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->has_w_zeros == 0 && (p->groups == 1 || p->out_c / p->groups >= 8);
}

bool nnacl_conv2d_accepts_winograd_avx512(const void *params) {
    return winograd_for(params, NNACL_ISA_AVX512).unit > 0;
}

bool nnacl_conv2d_accepts_winograd_avx2(const void *params) {
    return winograd_for(params, NNACL_ISA_AVX2).unit > 0;
}

bool nnacl_conv2d_accepts_winograd_neon(const void *params) {
    return winograd_for(params, NNACL_ISA_NEON).unit > 0;
}

bool nnacl_conv2d_accepts_centred(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->w_zero == 0 && nnacl_conv2d_accepts_panels(params);
}

bool nnacl_depthwise_accepts_wide(const void *params) {
    return ((const nnacl_conv2d_params *)params)->out_c >= 16 && nnacl_depthwise_accepts_plain(params);
}

bool nnacl_depthwise_accepts_centred(const void *params) {
    return ((const nnacl_conv2d_params *)params)->w_zero == 0 && nnacl_depthwise_accepts_plain(params);
}

bool nnacl_depthwise_accepts_plain(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->has_w_zeros == 0 && p->out_c == p->in_c;
}

/* The kernels of s8 for small machines. */
static bool is_small_s8(const nnacl_kernel *kernel) {
    return kernel->dtype == NNACL_S8 && (kernel->isa == NNACL_ISA_DSP || kernel->isa == NNACL_ISA_MVE);
}

static size_t depthwise_workspace(const void *params, const nnacl_kernel *kernel) {
    if (is_arm_s8(kernel)) {
        const nnacl_conv_band band = nnacl_depthwise_arm_band(params);
        return nnacl_conv_band_workspace(params, &band);
    }
    if (is_half_vector(kernel) && kernel->isa != NNACL_ISA_MVE) {
        return nnacl_depthwise_half_workspace(params);
    }
    return is_small_s8(kernel) ? nnacl_depthwise_small_workspace(params, kernel->isa, is_compact(kernel)) : 0;
}

/* The AVX-512 kernel of s8 reads the weights in pairs. */
static size_t depthwise_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_params *p = params;
    if (is_half_vector(kernel)) {
        const bool is_mve = kernel->isa == NNACL_ISA_MVE;
        return !is_mve || index == 0 ? 0 : index == 1 ? nnacl_depthwise_half_packed_size(p) : NNACL_PACKED_ELSEWHERE;
    }
    if (is_arm_s8(kernel)) {
        return index == 1 ? nnacl_depthwise_arm_packed_size(p) : index > 1 ? NNACL_PACKED_ELSEWHERE : 0;
    }
    if (reads_quads(kernel)) {
        return index == 1 ? (size_t)nnacl_quads_blocks(p) * NNACL_QUADS_BYTES : 0;
    }
    if (is_small_s8(kernel)) {
        return index > 0 ? nnacl_depthwise_small_packed_size(p, kernel->isa, index) : 0;
    }
    const bool is_packed = kernel->isa == NNACL_ISA_AVX512 && kernel->dtype == NNACL_S8 && index == 1;
    return is_packed ? nnacl_panels_pair_size(p->out_c, p->kernel_h, p->kernel_w) : 0;
}

static void depthwise_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                           void *packed) {
    const nnacl_conv2d_params *p = params;
    if (is_half_vector(kernel)) {
        nnacl_depthwise_half_pack(p, in, packed);
        return;
    }
    if (is_arm_s8(kernel)) {
        nnacl_depthwise_arm_pack(p, in, packed);
        return;
    }
    if (reads_quads(kernel)) {
        nnacl_depthwise_quads_pack(p, in[index], packed);
        return;
    }
    if (is_small_s8(kernel)) {
        nnacl_depthwise_small_pack(p, kernel->isa, is_compact(kernel), in, packed);
        return;
    }
    nnacl_pack_panels_pair(in[index], p->out_c, p->kernel_h, p->kernel_w, p->x_zero, p->w_zero, packed);
}

static int64_t conv_macs(const void *params) {
    const nnacl_conv2d_params *p = params;
    return (int64_t)p->batch * p->out_h * p->out_w * p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}

static nnacl_lead conv_window_lead(const nnacl_conv2d_params *p, size_t in_size, size_t out_size, int32_t ahead) {
    const nnacl_lead_window window = {
        NNACL_LEAD_SAME(p),
        .in_bytes = (int64_t)in_size * p->in_c,
        .out_bytes = (int64_t)out_size * p->out_c,
        .ahead = ahead,
    };
    return nnacl_window_lead(&window);
}

static nnacl_lead conv2d_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_params *p = params;
    const size_t size = nnacl_dtype_size(kernel->dtype);
    if (index != 0) {
        return nnacl_lead_none();
    }
    switch (kernel->isa) {
    case NNACL_ISA_C:
        return conv_window_lead(p, size, size, 1);
    case NNACL_ISA_DSP: /* copies windows of s8, computes two positions of s16 at a time where they are */
        return conv_window_lead(p, size, size, kernel->dtype == NNACL_S16 ? 2 : 0);
    case NNACL_ISA_VFP: /* two at a time where they are */
        return conv_window_lead(p, size, size, 2);
    case NNACL_ISA_MVE: /* copies those of s8 whose runs it joins, else computes two or four where they are */
        if (kernel->dtype != NNACL_S8) {
            return conv_window_lead(p, size, size, kernel->dtype == NNACL_S16 ? 2 : 4);
        }
        return conv_window_lead(p, size, size,
                                nnacl_conv2d_chunked_runs(p).count != nnacl_conv2d_runs(p).count ? 0 : 2);
    default:
        return nnacl_lead_none();
    }
}

static nnacl_lead conv2d_integer_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    return index == 0 ? conv_window_lead(params, nnacl_dtype_size(kernel->dtype), sizeof(int32_t), 1)
                      : nnacl_lead_none();
}

const nnacl_op nnacl_conv2d_op = {
    .name = "conv2d",
    .params_name = "nnacl_conv2d_params",
    .header = "conv/conv.h",
    .params_size = sizeof(nnacl_conv2d_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv2d_resize,
    .workspace = conv2d_workspace,
    .packed_size = conv2d_packed_size,
    .pack = conv2d_pack,
    .parts = conv2d_parts,
    .macs = conv_macs,
    .lead = conv2d_lead,
    .stripe = nnacl_conv_stripe,
};

const nnacl_op nnacl_conv2d_integer_op = {
    .name = "conv2d_integer",
    .params_name = "nnacl_conv2d_params",
    .header = "conv/conv.h",
    .params_size = sizeof(nnacl_conv2d_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = conv2d_integer_resize,
    .parts = conv_parts,
    .macs = conv_macs,
    .lead = conv2d_integer_lead,
};

/* The kernels for 3 x 3 taps go over the whole image for some channels after the other. In the same place, what they
 * write lies on the inputs of the same channels: right if those are in the ring already, or not wanted. */
static nnacl_lead sweep_lead(const nnacl_conv2d_params *p) {
    const nnacl_depthwise_axes axes = nnacl_depthwise_axes_of(p);
    if (p->batch != 1 || p->out_c != p->in_c || axes.ring.out > NNACL_LEAD_ROWS ||
        (axes.swapped && p->out_w != p->in_w)) {
        return nnacl_lead_none();
    }
    for (int32_t row = 0; row < axes.ring.out; row++) {
        const int64_t in_ring = (int64_t)row * axes.ring.stride - axes.ring.pad + NNACL_RING_ROWS;
        const int64_t read = in_ring > 0 ? in_ring : 0;
        const bool is_read = axes.swapped ? row < read : ((int64_t)row + 1) * p->out_w <= read * p->in_w;
        if (!is_read && read < axes.ring.in) {
            return nnacl_lead_none();
        }
    }
    return nnacl_lead_at_start();
}

static nnacl_lead depthwise_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_conv2d_params *p = params;
    const size_t size = nnacl_dtype_size(kernel->dtype);
    const bool small = is_small_s8(kernel), is_mve = kernel->isa == NNACL_ISA_MVE;
    const bool by_position =
        kernel->isa == NNACL_ISA_C || reads_columns(kernel) || kernel->dtype == NNACL_S16 || (is_mve && !small);
    if (index != 0 || (!small && !by_position)) {
        return nnacl_lead_none();
    }
    return small && nnacl_depthwise_sweeps(p, kernel->isa) ? sweep_lead(p) : conv_window_lead(p, size, size, 1);
}

const nnacl_op nnacl_depthwise_conv2d_op = {
    .name = "depthwise_conv2d",
    .params_name = "nnacl_conv2d_params",
    .header = "conv/conv.h",
    .params_size = sizeof(nnacl_conv2d_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = depthwise_resize,
    .workspace = depthwise_workspace,
    .packed_size = depthwise_packed_size,
    .pack = depthwise_pack,
    .parts = depthwise_parts,
    .macs = conv_macs,
    .lead = depthwise_lead,
    .stripe = nnacl_conv_stripe,
};
