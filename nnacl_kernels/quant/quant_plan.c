/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lead.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "nnacl_kernels.h"
#include "quant/quant.h"
#include "quant/requantize_table.h"

static bool is_narrow(int32_t dtype) {
    return dtype == NNACL_S8 || dtype == NNACL_U8 || dtype == NNACL_S16;
}

static bool scale_ok(float scale) {
    return scale > 0.0f && scale <= 3.4e38f;
}

static const char *same_shape(const nnacl_tensor *x, int32_t dtype, nnacl_tensor *y, int32_t *count) {
    NNACL_REQUIRE(nnacl_plan_count(x) >= 0, "x has too many elements");
    *count = (int32_t)nnacl_plan_count(x);
    nnacl_plan_output(y, dtype, x->rank, x->dims);
    return NULL;
}

static bool is_stored(int32_t dtype) {
    return is_narrow(dtype) || dtype == NNACL_U16;
}

/* What quantize and dequantize share: how the scales and zero points lie along x. */
typedef struct layout {
    int32_t axis, block;
    int32_t has_scales, has_zeros;
    int32_t outer, channels, inner;
} layout;

static bool is_one(const nnacl_tensor *tensor) {
    return nnacl_plan_count(tensor) == 1 && tensor->rank <= 1;
}

/* Whether a tensor of scales or zero points lies along x as axis and block say. */
static bool lies_along(const nnacl_tensor *tensor, const nnacl_tensor *x, const layout *l) {
    if (l->axis < 0) {
        return is_one(tensor);
    }
    if (l->block == 0) {
        return tensor->rank == 1 && tensor->dims[0] == l->channels;
    }
    bool same = tensor->rank == x->rank;
    for (int32_t i = 0; same && i < x->rank; i++) {
        const int32_t blocks = x->dims[i] / l->block + (x->dims[i] % l->block != 0);
        same = tensor->dims[i] == (i == l->axis ? blocks : x->dims[i]);
    }
    return same;
}

static const char *lay_out(layout *l, const nnacl_tensor *in, int32_t n_in, int32_t dtype, nnacl_tensor *y) {
    const nnacl_tensor *x = &in[0], *scales = nnacl_plan_input(in, n_in, 1), *zeros = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(l->axis >= -1 && l->axis < x->rank, "axis is out of range");
    NNACL_REQUIRE(l->block >= 0 && (l->block == 0 || l->axis >= 0), "block is negative or lacks an axis");
    int32_t count;
    const char *message = same_shape(x, dtype, y, &count);
    if (message) {
        return message;
    }
    l->channels = l->axis >= 0 ? x->dims[l->axis] : 1;
    NNACL_REQUIRE(!scales || (scales->dtype == NNACL_F32 && lies_along(scales, x, l)),
                  "scales must be f32 of the shape that axis and block say");
    NNACL_REQUIRE(!zeros || (zeros->dtype == NNACL_S32 && lies_along(zeros, x, l)),
                  "zeros must be s32 of the shape that axis and block say");
    l->has_scales = scales != NULL;
    l->has_zeros = zeros != NULL;
    l->outer = count == 0 ? 0 : nnacl_shape_product(x, 0, l->axis);
    l->inner = count == 0 ? 1 : nnacl_shape_product(x, l->axis + 1, x->rank);
    return NULL;
}

static int32_t parts_of(int32_t outer, int32_t channels, int32_t inner) {
    const int32_t rows = outer * channels;
    return rows > 1 ? rows : outer * inner > 1 ? outer * inner : 1;
}

static const char *quantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_quantize_params *p = params;
    NNACL_REQUIRE(n_in >= 1 && n_in <= 3 && n_out == 1, "expected x, scales and zeros, and one output");
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "x must be f32");
    NNACL_REQUIRE(is_stored(p->to), "y must be s8, u8, s16 or u16");
    NNACL_REQUIRE(nnacl_plan_input(in, n_in, 1) || scale_ok(p->scale), "scale must be positive and finite");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->zero, p->to), "the zero point is outside the range of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    layout l = {.axis = p->axis, .block = p->block};
    const char *message = lay_out(&l, in, n_in, p->to, &out[0]);
    p->has_scales = l.has_scales;
    p->has_zeros = l.has_zeros;
    p->outer = l.outer;
    p->channels = l.channels;
    p->inner = l.inner;
    return message;
}

bool nnacl_quantize_accepts_bytes(const void *params) {
    const nnacl_quantize_params *p = params;
    return p->axis == -1 && (p->to == NNACL_S8 || p->to == NNACL_U8) &&
           (p->rounding == NNACL_ROUND_FLOAT_EVEN || p->rounding == NNACL_ROUND_TFLITE_UP_BY_8);
}

bool nnacl_quantize_accepts_tensor_s8(const void *params) {
    const nnacl_quantize_params *p = params;
    return p->axis == -1 && !p->has_scales && !p->has_zeros && p->to == NNACL_S8 &&
           p->rounding != NNACL_ROUND_TFLITE_UP_BY_8;
}

static int32_t quantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_quantize_params *p = params;
    (void)kernel;
    return parts_of(p->outer, p->channels, p->inner);
}

/* Element by element; bytes only, since a compiler takes it that other narrow integers do not lie over floats. */
static nnacl_lead quantize_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_quantize_params *p = params;
    (void)kernel;
    return index == 0 && (p->to == NNACL_S8 || p->to == NNACL_U8) ? nnacl_lead_from(0) : nnacl_lead_none();
}

const nnacl_op nnacl_quantize_op = {
    .name = "quantize",
    .params_name = "nnacl_quantize_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_quantize_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = quantize_resize,
    .parts = quantize_parts,
    .lead = quantize_lead,
};

static const char *dequantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_dequantize_params *p = params;
    NNACL_REQUIRE(n_in >= 1 && n_in <= 3 && n_out == 1, "expected x, scales and zeros, and one output");
    NNACL_REQUIRE(is_stored(in[0].dtype) || in[0].dtype == NNACL_S32, "x must be s8, u8, s16, u16 or s32");
    NNACL_REQUIRE(nnacl_plan_input(in, n_in, 1) || scale_ok(p->scale), "scale must be positive and finite");
    layout l = {.axis = p->axis, .block = p->block};
    const char *message = lay_out(&l, in, n_in, NNACL_F32, &out[0]);
    p->from = in[0].dtype;
    p->has_scales = l.has_scales;
    p->has_zeros = l.has_zeros;
    p->outer = l.outer;
    p->channels = l.channels;
    p->inner = l.inner;
    return message;
}

bool nnacl_dequantize_accepts_tensor(const void *params) {
    const nnacl_dequantize_params *p = params;
    return p->axis == -1 && !p->has_scales && !p->has_zeros;
}

static int32_t dequantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dequantize_params *p = params;
    (void)kernel;
    return parts_of(p->outer, p->channels, p->inner);
}

const nnacl_op nnacl_dequantize_op = {
    .name = "dequantize",
    .params_name = "nnacl_dequantize_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_dequantize_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = dequantize_resize,
    .parts = dequantize_parts,
};

static const char *quantize_dynamic_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                           int32_t n_out) {
    nnacl_quantize_dynamic_params *p = params;
    NNACL_REQUIRE(n_in == 1 && n_out == 3, "expected one input and three outputs");
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "x must be f32");
    nnacl_plan_output(&out[1], NNACL_F32, 0, NULL);
    nnacl_plan_output(&out[2], NNACL_U8, 0, NULL);
    return same_shape(&in[0], NNACL_U8, &out[0], &p->count);
}

const nnacl_op nnacl_quantize_dynamic_op = {
    .name = "quantize_dynamic",
    .params_name = "nnacl_quantize_dynamic_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_quantize_dynamic_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = quantize_dynamic_resize,
};

static const char *requantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_requantize_params *p = params;
    NNACL_REQUIRE(n_in == 1 && n_out == 1, "expected one input and one output");
    NNACL_REQUIRE((is_narrow(in[0].dtype) || in[0].dtype == NNACL_S32) && (is_narrow(p->to) || p->to == NNACL_S32),
                  "x and y must be s8, u8, s16 or s32");
    NNACL_REQUIRE(in[0].dtype != NNACL_S32 || p->x_zero == 0, "x is s32; its zero point must be 0");
    NNACL_REQUIRE(p->to != NNACL_S32 || p->rounding != NNACL_ROUND_FLOAT_EVEN, "float-even does not give s32");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, in[0].dtype) && nnacl_plan_zero_ok(p->y_zero, p->to),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, p->to), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        NNACL_REQUIRE(scale_ok(p->scale), "scale must be positive and finite");
    } else {
        NNACL_REQUIRE(nnacl_plan_requant_ok(p->mult, p->shift), "mult is negative or shift outside -62 .. 30");
    }
    p->from = in[0].dtype;
    return same_shape(&in[0], p->to, &out[0], &p->count);
}

bool nnacl_requantize_accepts_table(const void *params) {
    return nnacl_requantize_by_table(params);
}

static int32_t requantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_requantize_params *p = params;
    (void)kernel;
    return p->count > 0 ? p->count : 1;
}

static size_t requantize_workspace(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return nnacl_requantize_by_table(params) ? 256 : 0;
}

const nnacl_op nnacl_requantize_op = {
    .name = "requantize",
    .params_name = "nnacl_requantize_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_requantize_params),
    .alias = NNACL_ALIAS_IN_PLACE,
    .resize = requantize_resize,
    .workspace = requantize_workspace,
    .parts = requantize_parts,
};
