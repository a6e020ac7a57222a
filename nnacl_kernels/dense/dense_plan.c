/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pairs_s16.h"
#include "common/panels.h"
#include "common/panels_arm.h"
#include "common/panels_quad.h"
#include "common/plan_check.h"
#include "common/rows_s8_dsp.h"
#include "common/shape.h"
#include "dense/dense.h"
#include "dense/dense_pack.h"
#include "nnacl_kernels.h"

static const char *dense_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_dense_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 5 && n_out == 1,
                  "expected x, weights, bias, requant and w_zeros, and one output");
    const nnacl_tensor *x = &in[0], *w = &in[1], *bias = nnacl_plan_input(in, n_in, 2);
    const bool is_float = x->dtype == NNACL_F32 || x->dtype == NNACL_F16;
    NNACL_REQUIRE(is_float || x->dtype == NNACL_S8 || x->dtype == NNACL_S16, "x must be f32, f16, s8 or s16");
    NNACL_REQUIRE(x->rank >= 1 && nnacl_plan_count(x) >= 0, "x must have at least one dimension");
    NNACL_REQUIRE(nnacl_plan_is(w, is_float ? x->dtype : NNACL_S8, 2) && nnacl_plan_count(w) >= 0,
                  "weights must be [units, depth], f32 or f16 as x, or s8 with integers");
    p->units = w->dims[0];
    p->depth = w->dims[1];
    NNACL_REQUIRE(p->units >= 1 && p->depth >= 1, "there are no units, or they have no inputs");
    NNACL_REQUIRE(x->dims[x->rank - 1] == p->depth, "the last dimension of x must be the depth of the weights");
    p->rows = (int32_t)(nnacl_plan_count(x) / p->depth);
    NNACL_REQUIRE(nnacl_plan_output_units(&out[0], x, p->units), "y would have too many elements");
    if (is_float) {
        p->has_bias = bias != NULL;
        p->has_w_zeros = 0;
        NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->units), "bias must be f32 [units]");
        NNACL_REQUIRE(!nnacl_plan_input(in, n_in, 3) && !nnacl_plan_input(in, n_in, 4),
                      "requant and w_zeros are for integers only");
        NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
        return NULL;
    }
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, x->dtype) && nnacl_plan_zero_ok(p->w_zero, NNACL_S8) &&
                      nnacl_plan_zero_ok(p->y_zero, x->dtype),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, x->dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    return nnacl_plan_weighted(in, n_in, p->units, p->rounding, &p->has_bias, &p->has_w_zeros);
}

bool nnacl_dense_accepts_one_zero(const void *params) {
    const nnacl_dense_params *p = params;
    return p->has_w_zeros == 0;
}

bool nnacl_dense_accepts_centred(const void *params) {
    const nnacl_dense_params *p = params;
    return p->has_w_zeros == 0 && p->w_zero == 0;
}

bool nnacl_dense_accepts_s16_mve(const void *params) {
    return nnacl_dense_accepts_centred(params) && ((const nnacl_dense_params *)params)->x_zero == 0;
}

bool nnacl_dense_accepts_s16_dsp(const void *params) {
    const nnacl_dense_params *p = params;
    return nnacl_dense_accepts_centred(params) && p->x_zero == 0 && p->depth >= 2 && p->units >= 2;
}

/* Those of s8 for x86 that multiply quads of bytes. */
static bool reads_quads(const nnacl_kernel *kernel) {
    return (kernel->isa & (NNACL_ISA_VNNI | NNACL_ISA_AVXVNNI)) != 0;
}

/* The vector kernels of f32 and those of quads read the weights in panels. */
static bool has_panels(const nnacl_kernel *kernel) {
    const uint32_t f32 = NNACL_ISA_AVX2 | NNACL_ISA_AVX512 | NNACL_ISA_NEON;
    return reads_quads(kernel) || ((kernel->isa & f32) != 0 && kernel->dtype == NNACL_F32);
}

/* Those of f32 that read them in columns of four, as a small floating-point unit does. */
static bool reads_columns(const nnacl_kernel *kernel) {
    return kernel->isa == NNACL_ISA_VFP || (kernel->isa == NNACL_ISA_MVE && kernel->dtype == NNACL_F32);
}

/* Those of s8 for AArch64. */
static bool is_arm_s8(const nnacl_kernel *kernel) {
    return kernel->dtype == NNACL_S8 && (kernel->isa & (NNACL_ISA_NEON | NNACL_ISA_DOTPROD | NNACL_ISA_I8MM)) != 0;
}

/* Of halves beside the plain one: the columns of their panels, else 0. */
static int32_t half_width(const nnacl_kernel *kernel) {
    const bool is_half = kernel->dtype == NNACL_F16 && kernel->isa != NNACL_ISA_C;
    return !is_half ? 0 : kernel->isa == NNACL_ISA_MVE ? NNACL_PANEL_F16_MVE : NNACL_PANEL_F16;
}

static size_t dense_packed_size(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_dense_params *p = params;
    if (half_width(kernel) > 0) {
        return index == 1 ? nnacl_columns_f16_size(p->units, p->depth, half_width(kernel)) : 0;
    }
    if (is_arm_s8(kernel)) {
        return index == 1 ? nnacl_dense_arm_packed_size(p, kernel->isa) : index > 1 ? NNACL_PACKED_ELSEWHERE : 0;
    }
    if (reads_columns(kernel)) {
        return index == 1 ? nnacl_columns_f32_size(p->units, p->depth, NNACL_PANEL_VFP) : 0;
    }
    if (kernel->isa == NNACL_ISA_DSP && kernel->dtype == NNACL_S16) {
        return index == 1 ? nnacl_pairs_s16_size(p->units, (nnacl_runs){1, p->depth}) : 0;
    }
    if (kernel->isa == NNACL_ISA_MVE && kernel->dtype == NNACL_S16) {
        return 0;
    }
    if (kernel->isa == NNACL_ISA_DSP || kernel->isa == NNACL_ISA_MVE) {
        return index > 0 ? nnacl_dense_small_packed_size(p, kernel->isa, index) : 0;
    }
    if (!has_panels(kernel) || index != 1) {
        return 0;
    }
    return kernel->dtype == NNACL_F32 ? nnacl_panels_f32_size(p->units, p->depth)
                                      : nnacl_panels_quad_size(p->units, p->depth);
}

static void dense_pack(const void *params, const nnacl_kernel *kernel, int32_t index, const void *const in[],
                       void *packed) {
    const nnacl_dense_params *p = params;
    if (half_width(kernel) > 0) {
        nnacl_pack_columns_f16(in[index], p->units, p->depth, p->depth, half_width(kernel), packed);
        return;
    }
    if (is_arm_s8(kernel)) {
        nnacl_dense_arm_pack(p, kernel->isa, in, packed);
        return;
    }
    if (reads_columns(kernel)) {
        nnacl_pack_columns_f32(in[index], p->units, p->depth, NNACL_PANEL_VFP, packed);
        return;
    }
    if (kernel->isa == NNACL_ISA_DSP && kernel->dtype == NNACL_S16) {
        nnacl_pack_pairs_s16(in[index], p->units, (nnacl_runs){1, p->depth}, packed);
        return;
    }
    if (kernel->isa == NNACL_ISA_DSP || kernel->isa == NNACL_ISA_MVE) {
        nnacl_dense_small_pack(p, kernel->isa, in, packed);
        return;
    }
    if (kernel->dtype == NNACL_F32) {
        nnacl_pack_panels_f32(in[index], p->units, p->depth, packed);
    } else {
        nnacl_pack_panels_quad(in[index], p->units, p->depth, p->x_zero, packed);
    }
}

static int32_t dense_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_params *p = params;
    if (is_arm_s8(kernel)) {
        return nnacl_arm_panels(p->units, nnacl_arm_layout_of(kernel->isa));
    }
    if (half_width(kernel) > 0) {
        return nnacl_panel_count(p->units, half_width(kernel));
    }
    return has_panels(kernel) ? nnacl_panel_count(p->units, NNACL_PANEL_F32) : p->units;
}

/* Rows that are shorter than what is read at a time are copied. */
static size_t dense_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dense_params *p = params;
    return is_arm_s8(kernel) && p->depth < NNACL_ARM_CHUNK ? NNACL_ARM_CHUNK * (1 + NNACL_ARM_SHORT_ROWS) : 0;
}

static int64_t dense_macs(const void *params) {
    const nnacl_dense_params *p = params;
    return (int64_t)p->rows * p->depth * p->units;
}

const nnacl_op nnacl_dense_op = {
    .name = "dense",
    .params_name = "nnacl_dense_params",
    .header = "dense/dense.h",
    .params_size = sizeof(nnacl_dense_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = dense_resize,
    .workspace = dense_workspace,
    .packed_size = dense_packed_size,
    .pack = dense_pack,
    .parts = dense_parts,
    .macs = dense_macs,
};

/* Fills batch_rank, batch_dims and the strides, and the leading dimensions of y; false when they do not broadcast. */
static bool broadcast_batches(nnacl_matmul_params *p, const nnacl_tensor *a, const nnacl_tensor *b, int32_t *dims) {
    const int32_t a_rank = a->rank - 2, b_rank = b->rank - 2;
    p->batch_rank = a_rank > b_rank ? a_rank : b_rank;
    int32_t a_stride = 1, b_stride = 1;
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        p->batch_dims[i] = p->a_strides[i] = p->b_strides[i] = 0;
    }
    for (int32_t i = p->batch_rank - 1; i >= 0; i--) {
        const int32_t a_axis = i - (p->batch_rank - a_rank), b_axis = i - (p->batch_rank - b_rank);
        const int32_t a_dim = a_axis >= 0 ? a->dims[a_axis] : 1, b_dim = b_axis >= 0 ? b->dims[b_axis] : 1;
        if (a_dim != b_dim && a_dim != 1 && b_dim != 1) {
            return false;
        }
        dims[i] = p->batch_dims[i] = a_dim == 1 ? b_dim : a_dim;
        p->a_strides[i] = a_dim == 1 ? 0 : a_stride;
        p->b_strides[i] = b_dim == 1 ? 0 : b_stride;
        a_stride *= a_dim;
        b_stride *= b_dim;
    }
    return true;
}

/* Shapes of matmul and matmul_integer. */
static const char *matmul_shapes(nnacl_matmul_params *p, const nnacl_tensor *a, const nnacl_tensor *b, int32_t dtype,
                                 nnacl_tensor *out) {
    NNACL_REQUIRE(a->rank >= 2 && b->rank >= 2, "a and b must have at least two dimensions");
    NNACL_REQUIRE(nnacl_plan_count(a) >= 0 && nnacl_plan_count(b) >= 0, "a or b has too many elements");
    NNACL_REQUIRE((p->transpose_a == 0 || p->transpose_a == 1) && (p->transpose_b == 0 || p->transpose_b == 1),
                  "transpose_a and transpose_b must be 0 or 1");
    const int32_t *a_dims = a->dims + a->rank - 2, *b_dims = b->dims + b->rank - 2;
    p->m = a_dims[p->transpose_a];
    p->k = a_dims[1 - p->transpose_a];
    p->n = b_dims[1 - p->transpose_b];
    NNACL_REQUIRE(b_dims[p->transpose_b] == p->k, "the inner dimensions of a and b differ");
    int32_t dims[NNACL_MAX_RANK];
    NNACL_REQUIRE(broadcast_batches(p, a, b, dims), "the leading dimensions of a and b do not broadcast");
    dims[p->batch_rank] = p->m;
    dims[p->batch_rank + 1] = p->n;
    NNACL_REQUIRE(nnacl_plan_output(out, dtype, p->batch_rank + 2, dims), "y would have too many elements");
    /* The kernels count the rows of y; with n = 0 they could pass what the elements allow. */
    nnacl_tensor rows = *out;
    rows.rank--;
    NNACL_REQUIRE(nnacl_plan_count(&rows) >= 0, "y would have too many rows");
    p->a_type = a->dtype;
    p->b_type = b->dtype;
    p->has_bias = p->a_zeros = p->b_zeros = 0;
    return NULL;
}

static const char *check_quantized_matmul(const nnacl_matmul_params *p, int32_t dtype) {
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->a_zero, dtype) && nnacl_plan_zero_ok(p->b_zero, dtype) &&
                      nnacl_plan_zero_ok(p->y_zero, dtype),
                  "a zero point is outside the range of the type");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, dtype), "q_min .. q_max is not a range within the type");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    NNACL_REQUIRE(p->rounding == NNACL_ROUND_FLOAT_EVEN ? p->scale >= 0.0f && p->scale <= 3.4e38f
                                                        : nnacl_plan_requant_ok(p->mult, p->shift),
                  "the scale is negative or not finite, or the multiplier negative or its shift outside -62 .. 30");
    return NULL;
}

static const char *matmul_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_matmul_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 3 && n_out == 1, "expected a, b and bias, and one output");
    const nnacl_tensor *a = &in[0], *b = &in[1], *bias = nnacl_plan_input(in, n_in, 2);
    const bool is_quantized = a->dtype == NNACL_S8 || a->dtype == NNACL_S16;
    NNACL_REQUIRE(is_quantized || a->dtype == NNACL_F32 || a->dtype == NNACL_S32 || a->dtype == NNACL_U32 ||
                      a->dtype == NNACL_S64 || a->dtype == NNACL_U64,
                  "a must be f32, s8, s16, s32, u32, s64 or u64");
    NNACL_REQUIRE(b->dtype == a->dtype, "a and b differ in type");
    NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min must not exceed clamp_max");
    const char *message = matmul_shapes(p, a, b, a->dtype, &out[0]);
    if (!message && is_quantized) {
        message = check_quantized_matmul(p, a->dtype);
    }
    if (message) {
        return message;
    }
    NNACL_REQUIRE(!bias || a->dtype == NNACL_F32, "a bias is for f32 only");
    NNACL_REQUIRE(!bias || nnacl_plan_is_vector(bias, NNACL_F32, p->n), "bias must be f32 [n]");
    p->has_bias = bias != NULL;
    return NULL;
}

static const char *matmul_integer_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                         int32_t n_out) {
    nnacl_matmul_params *p = params;
    NNACL_REQUIRE(n_in >= 2 && n_in <= 4 && n_out == 1, "expected a, b, a_zeros and b_zeros, and one output");
    for (int32_t i = 0; i < 2; i++) {
        NNACL_REQUIRE(in[i].dtype == NNACL_S8 || in[i].dtype == NNACL_U8, "a and b must be s8 or u8");
    }
    const char *message = matmul_shapes(p, &in[0], &in[1], NNACL_S32, &out[0]);
    if (message) {
        return message;
    }
    const nnacl_tensor *a_zeros = nnacl_plan_input(in, n_in, 2), *b_zeros = nnacl_plan_input(in, n_in, 3);
    const int32_t a_count = a_zeros ? (int32_t)nnacl_plan_count(a_zeros) : 0;
    const int32_t b_count = b_zeros ? (int32_t)nnacl_plan_count(b_zeros) : 0;
    NNACL_REQUIRE(!a_zeros || (a_zeros->dtype == NNACL_S32 && a_zeros->rank <= 1 && (a_count == 1 || a_count == p->m)),
                  "a_zeros must be s32, one element or [m]");
    NNACL_REQUIRE(!b_zeros || (b_zeros->dtype == NNACL_S32 && b_zeros->rank <= 1 && (b_count == 1 || b_count == p->n)),
                  "b_zeros must be s32, one element or [n]");
    p->a_zeros = a_count;
    p->b_zeros = b_count;
    return NULL;
}

static int32_t matmul_rows(const nnacl_matmul_params *p) {
    int32_t rows = p->m;
    for (int32_t i = 0; i < p->batch_rank; i++) {
        rows *= p->batch_dims[i];
    }
    return rows;
}

/* One panel of b, or the three that AVX-512 takes at a time. */
static size_t matmul_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_matmul_params *p = params;
    const size_t panels = kernel->isa == NNACL_ISA_AVX512 ? 3 : kernel->isa == NNACL_ISA_C ? 0 : 1;
    if (reads_quads(kernel)) {
        return (kernel->isa == NNACL_ISA_VNNI ? 3 : 1) * nnacl_panel_quad_size(p->k);
    }
    if (kernel->isa == NNACL_ISA_DSP) { /* a row of a, widened */
        return p->transpose_b && kernel->dtype == NNACL_S8 ? sizeof(uint32_t) * (size_t)nnacl_row_words(p->k) : 0;
    }
    return kernel->dtype == NNACL_F32 ? panels * (size_t)p->k * NNACL_PANEL_F32 * sizeof(float) : 0;
}

bool nnacl_matmul_accepts_rows(const void *params) {
    const nnacl_matmul_params *p = params;
    return p->transpose_a == 0;
}

bool nnacl_matmul_accepts_plain_rows(const void *params) {
    const nnacl_matmul_params *p = params;
    const bool is_plain = p->a_zero == 0 && p->b_zero == 0;
    return is_plain && (p->transpose_b || p->n <= UINT16_MAX / 7) && nnacl_matmul_accepts_rows(params);
}

static int32_t matmul_parts(const void *params, const nnacl_kernel *kernel) {
    const int32_t rows = matmul_rows(params);
    (void)kernel;
    return rows > 0 ? rows : 1;
}

static int64_t matmul_macs(const void *params) {
    const nnacl_matmul_params *p = params;
    return (int64_t)matmul_rows(p) * p->k * p->n;
}

const nnacl_op nnacl_matmul_op = {
    .name = "matmul",
    .params_name = "nnacl_matmul_params",
    .header = "dense/dense.h",
    .params_size = sizeof(nnacl_matmul_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = matmul_resize,
    .workspace = matmul_workspace,
    .parts = matmul_parts,
    .macs = matmul_macs,
};

static const char *det_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_det_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32 && x->rank >= 2, "x must be f32 with at least two dimensions");
    p->n = x->dims[x->rank - 1];
    NNACL_REQUIRE(x->dims[x->rank - 2] == p->n, "the matrices are not square");
    NNACL_REQUIRE(p->n >= 1 && p->n <= 16384, "the matrices are empty or too large");
    message = nnacl_shape_set(&out[0], NNACL_F32, x->rank - 2, x->dims);
    p->matrices = (int32_t)nnacl_element_count(&out[0]);
    return message;
}

/* A copy of one matrix. */
static size_t det_workspace(const void *params, const nnacl_kernel *kernel) {
    const nnacl_det_params *p = params;
    (void)kernel;
    return sizeof(float) * (size_t)p->n * (size_t)p->n;
}

const nnacl_op nnacl_det_op = {
    .name = "det",
    .params_name = "nnacl_det_params",
    .header = "dense/dense.h",
    .params_size = sizeof(nnacl_det_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = det_resize,
    .workspace = det_workspace,
};

const nnacl_op nnacl_matmul_integer_op = {
    .name = "matmul_integer",
    .params_name = "nnacl_matmul_params",
    .header = "dense/dense.h",
    .params_size = sizeof(nnacl_matmul_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = matmul_integer_resize,
    .parts = matmul_parts,
    .macs = matmul_macs,
};
