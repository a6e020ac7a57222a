#include "common/plan_check.h"
#include "nnacl_kernels.h"
#include "quant/quant.h"

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

static const char *quantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                   int32_t n_out) {
    nnacl_quantize_params *p = params;
    NNACL_REQUIRE(n_in == 1 && n_out == 1, "expected one input and one output");
    NNACL_REQUIRE(in[0].dtype == NNACL_F32, "x must be f32");
    NNACL_REQUIRE(is_narrow(p->to), "y must be s8, u8 or s16");
    NNACL_REQUIRE(scale_ok(p->scale), "scale must be positive and finite");
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->zero, p->to), "the zero point is outside the range of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "unknown rounding contract");
    return same_shape(&in[0], p->to, &out[0], &p->count);
}

static int32_t quantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_quantize_params *p = params;
    (void)kernel;
    return p->count > 0 ? p->count : 1;
}

const nnacl_op nnacl_quantize_op = {
    .name = "quantize",
    .params_name = "nnacl_quantize_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_quantize_params),
    .alias = NNACL_ALIAS_NONE,
    .resize = quantize_resize,
    .parts = quantize_parts,
};

static const char *dequantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_dequantize_params *p = params;
    NNACL_REQUIRE(n_in >= 1 && n_in <= 3 && n_out == 1, "expected x, scales and zeros, and one output");
    const nnacl_tensor *x = &in[0];
    const nnacl_tensor *scales = nnacl_plan_input(in, n_in, 1), *zeros = nnacl_plan_input(in, n_in, 2);
    NNACL_REQUIRE(is_narrow(x->dtype) || x->dtype == NNACL_S32, "x must be s8, u8, s16 or s32");
    NNACL_REQUIRE(p->axis >= -1 && p->axis < x->rank, "axis is out of range");
    NNACL_REQUIRE(p->axis >= 0 || (!scales && !zeros), "scales and zeros need an axis");
    int32_t count;
    const char *message = same_shape(x, NNACL_F32, &out[0], &count);
    if (message) {
        return message;
    }
    const int32_t channels = p->axis >= 0 ? x->dims[p->axis] : 1;
    NNACL_REQUIRE(!scales || nnacl_plan_is_vector(scales, NNACL_F32, channels), "scales must be f32 [channels]");
    NNACL_REQUIRE(!zeros || nnacl_plan_is_vector(zeros, NNACL_S32, channels), "zeros must be s32 [channels]");
    NNACL_REQUIRE(scales || scale_ok(p->scale), "scale must be positive and finite");
    p->from = x->dtype;
    p->has_scales = scales != NULL;
    p->has_zeros = zeros != NULL;
    p->channels = channels;
    p->outer = p->inner = 1;
    for (int32_t i = 0; i < x->rank && count > 0; i++) {
        p->outer *= i < p->axis ? x->dims[i] : 1;
        p->inner *= i > p->axis ? x->dims[i] : 1;
    }
    if (count == 0) {
        p->outer = 0;
    }
    return NULL;
}

static int32_t dequantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_dequantize_params *p = params;
    const int32_t rows = p->outer * p->channels;
    (void)kernel;
    return rows > 1 ? rows : p->outer * p->inner > 1 ? p->outer * p->inner : 1;
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

static const char *requantize_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                     int32_t n_out) {
    nnacl_requantize_params *p = params;
    NNACL_REQUIRE(n_in == 1 && n_out == 1, "expected one input and one output");
    NNACL_REQUIRE(is_narrow(in[0].dtype) && is_narrow(p->to), "x and y must be s8, u8 or s16");
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

static int32_t requantize_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_requantize_params *p = params;
    (void)kernel;
    return p->count > 0 ? p->count : 1;
}

const nnacl_op nnacl_requantize_op = {
    .name = "requantize",
    .params_name = "nnacl_requantize_params",
    .header = "quant/quant.h",
    .params_size = sizeof(nnacl_requantize_params),
    .alias = NNACL_ALIAS_IN_PLACE,
    .resize = requantize_resize,
    .parts = requantize_parts,
};
