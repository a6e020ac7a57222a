/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the elementwise ops. */
#include <math.h>

#include "common/lead.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "elementwise/elementwise.h"

/* Sets of element types, as bits. */
#define F32 (1u << NNACL_F32)
#define FLOATS (F32 | 1u << NNACL_F64)
#define F16 (1u << NNACL_F16)
#define S8 (1u << NNACL_S8)
#define S16 (1u << NNACL_S16)
#define U8 (1u << NNACL_U8)
#define B8 (1u << NNACL_B8)
#define INTEGERS (1u << NNACL_S32 | 1u << NNACL_S64)
#define WIDE_INTEGERS (INTEGERS | 1u << NNACL_U64)
#define ALL_INTEGERS (S8 | U8 | INTEGERS | 1u << NNACL_S16 | 1u << NNACL_U16 | 1u << NNACL_U32 | 1u << NNACL_U64)

#define LEAST_ELEMENTS_PER_PART 4096

static bool is_one_of(int32_t dtype, uint32_t types) {
    return dtype >= 0 && dtype < 32 && (types >> dtype & 1u) != 0;
}

/* Shape in, same shape out. */
static const char *same_shape(const nnacl_tensor *in, int32_t n_in, int32_t inputs, nnacl_tensor *out, int32_t n_out,
                              uint32_t types, int32_t *count) {
    const char *message = nnacl_shape_check(in, n_in, inputs, inputs, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(is_one_of(in[0].dtype, types), "the op is not defined for the element type of its input");
    *count = (int32_t)nnacl_element_count(&in[0]);
    return nnacl_shape_set(&out[0], in[0].dtype, in[0].rank, in[0].dims);
}

static const char *resize_unary(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                uint32_t types) {
    nnacl_unary_params *p = params;
    return same_shape(in, n_in, 1, out, n_out, types, &p->count);
}

/* A question about each element. */
static const char *resize_classify(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                   uint32_t types) {
    const char *message = resize_unary(params, in, n_in, out, n_out, types);
    NNACL_REQUIRE(!message, message);
    out[0].dtype = NNACL_B8;
    return NULL;
}

static int32_t unary_parts(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return nnacl_shape_parts(((const nnacl_unary_params *)params)->count, LEAST_ELEMENTS_PER_PART);
}

static const char *lut_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_lut_params *p = params;
    const char *message = same_shape(in, n_in, 2, out, n_out, S8 | S16, &p->count);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[1], in[0].dtype, in[0].dtype == NNACL_S8 ? 256 : 513),
                  "the table must be s8 [256], or s16 [513] for s16");
    return NULL;
}

static int32_t lut_parts(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return nnacl_shape_parts(((const nnacl_lut_params *)params)->count, LEAST_ELEMENTS_PER_PART);
}

static const char *sigmoid_table_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,
                                        int32_t n_out) {
    nnacl_sigmoid_table_params *p = params;
    const char *message = same_shape(in, n_in, 2, out, n_out, S16, &p->count);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(nnacl_plan_is_vector(&in[1], NNACL_U16, 256), "the table must be u16 [256]");
    NNACL_REQUIRE(p->tanh == 0 || p->tanh == 1, "tanh is neither 0 nor 1");
    NNACL_REQUIRE(p->mult >= 0 && p->mult <= 1 << 18 && p->shift >= 0 && p->shift <= 31,
                  "mult is outside 0 .. 2^18 or shift outside 0 .. 31");
    /* The table may be anything; the results of the kernel stay within 32 bits. */
    return NULL;
}

static int32_t sigmoid_table_parts(const void *params, const nnacl_kernel *kernel) {
    (void)kernel;
    return nnacl_shape_parts(((const nnacl_sigmoid_table_params *)params)->count, LEAST_ELEMENTS_PER_PART);
}

/* Merged shapes of `count` operands; sets the output. `dims` and each row of strides have NNACL_MAX_RANK entries. */
static const char *broadcast(const nnacl_tensor *const *operands, int32_t count, nnacl_tensor *out, int32_t dtype,
                             int32_t *rank, int32_t *dims, int32_t *const *strides) {
    for (int32_t i = 0; i < NNACL_MAX_RANK; i++) {
        dims[i] = 0;
        for (int32_t t = 0; t < count; t++) {
            strides[t][i] = 0;
        }
    }
    const int32_t full = nnacl_shape_broadcast(operands, count, dims);
    NNACL_REQUIRE(full >= 0, "the shapes of the inputs cannot be broadcast together");
    const char *message = nnacl_shape_set(out, dtype, full, dims);
    NNACL_REQUIRE(!message, message);
    for (int32_t t = 0; t < count; t++) {
        nnacl_shape_strides(operands[t], full, strides[t]);
    }
    *rank = nnacl_shape_merge(full, dims, strides, count);
    return NULL;
}

static int32_t broadcast_parts(int32_t rank, const int32_t *dims) {
    int64_t rows = 1;
    for (int32_t i = 0; i < rank - 1; i++) {
        rows *= dims[i];
    }
    const int32_t parts = nnacl_shape_parts(rows * dims[rank - 1], LEAST_ELEMENTS_PER_PART);
    return rows <= 1 || parts < rows ? parts : (int32_t)rows;
}

static const char *check_pair(const nnacl_tensor *in, int32_t n_in, int32_t n_out, uint32_t types) {
    const char *message = nnacl_shape_check(in, n_in, 2, 2, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(is_one_of(in[0].dtype, types), "the op is not defined for the element type of its inputs");
    NNACL_REQUIRE(in[1].dtype == in[0].dtype, "the inputs differ in type");
    return NULL;
}

static bool scale_ok(float scale) {
    return scale > 0.0f && scale <= 3.4e38f;
}

static const char *check_quantized(const nnacl_binary_params *p, int32_t dtype) {
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->a_zero, dtype) && nnacl_plan_zero_ok(p->b_zero, dtype) &&
                      nnacl_plan_zero_ok(p->y_zero, dtype),
                  "a zero point is outside the range of its tensor");
    NNACL_REQUIRE(dtype == NNACL_S8 || p->rounding == NNACL_ROUND_FLOAT_EVEN || (p->a_zero == 0 && p->b_zero == 0),
                  "operands of s16 have zero points under a contract of integers");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "rounding is not a known contract");
    if (p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        NNACL_REQUIRE(scale_ok(p->a_scale) && scale_ok(p->b_scale) && scale_ok(p->y_scale),
                      "a scale is not positive and finite");
        return NULL;
    }
    NNACL_REQUIRE(p->left_shift >= 0 && p->left_shift <= 20, "left_shift is outside 0 .. 20");
    NNACL_REQUIRE(nnacl_plan_requant_ok(p->a_mult, p->a_shift) && nnacl_plan_requant_ok(p->b_mult, p->b_shift) &&
                      nnacl_plan_requant_ok(p->y_mult, p->y_shift),
                  "a multiplier is negative or its shift outside -62 .. 30");
    return NULL;
}

static const char *resize_binary(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                 uint32_t types, bool scaled) {
    nnacl_binary_params *p = params;
    const char *message = check_pair(in, n_in, n_out, types);
    NNACL_REQUIRE(!message, message);
    if (is_one_of(in[0].dtype, FLOATS | F16)) {
        NNACL_REQUIRE(nnacl_plan_clamp_ok(p->clamp_min, p->clamp_max), "clamp_min is not at most clamp_max");
    }
    if ((in[0].dtype == NNACL_S8 || in[0].dtype == NNACL_S16) && scaled) {
        message = check_quantized(p, in[0].dtype);
        NNACL_REQUIRE(!message, message);
    }
    const nnacl_tensor *const operands[] = {&in[0], &in[1]};
    int32_t *const strides[] = {p->a_strides, p->b_strides};
    return broadcast(operands, 2, &out[0], in[0].dtype, &p->rank, p->dims, strides);
}

bool nnacl_binary_accepts_neon(const void *params) {
    return ((const nnacl_binary_params *)params)->rounding != NNACL_ROUND_SINGLE;
}

bool nnacl_binary_accepts_scales(const void *params) {
    return ((const nnacl_binary_params *)params)->rounding == NNACL_ROUND_FLOAT_EVEN;
}

bool nnacl_binary_accepts_mild_scales(const void *params) {
    const nnacl_binary_params *p = params;
    const float scales[] = {p->a_scale, p->b_scale, p->y_scale};
    bool is_mild = nnacl_binary_accepts_scales(params);
    for (int32_t i = 0; i < 3; i++) {
        is_mild = is_mild && scales[i] >= 1e-12f && scales[i] <= 1e12f;
    }
    return is_mild;
}

static int32_t binary_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_binary_params *p = params;
    (void)kernel;
    return broadcast_parts(p->rank, p->dims);
}

static const char *resize_compare(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                  uint32_t types) {
    nnacl_compare_params *p = params;
    const char *message = check_pair(in, n_in, n_out, types);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *const operands[] = {&in[0], &in[1]};
    int32_t *const strides[] = {p->a_strides, p->b_strides};
    return broadcast(operands, 2, &out[0], NNACL_B8, &p->rank, p->dims, strides);
}

static const char *resize_bitwise(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                  uint32_t types) {
    const char *message = resize_compare(params, in, n_in, out, n_out, types);
    NNACL_REQUIRE(!message, message);
    return nnacl_shape_set(&out[0], in[0].dtype, out[0].rank, out[0].dims);
}

static int32_t compare_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_compare_params *p = params;
    (void)kernel;
    return broadcast_parts(p->rank, p->dims);
}

static const char *where_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_where_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 3, 3, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(in[0].dtype == NNACL_B8, "the condition must be b8");
    NNACL_REQUIRE(in[2].dtype == in[1].dtype, "the inputs a and b differ in type");
    const nnacl_tensor *const operands[] = {&in[0], &in[1], &in[2]};
    int32_t *const strides[] = {p->condition_strides, p->a_strides, p->b_strides};
    p->element_size = (int32_t)nnacl_dtype_size(in[1].dtype);
    return broadcast(operands, 3, &out[0], in[1].dtype, &p->rank, p->dims, strides);
}

static int32_t where_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_where_params *p = params;
    (void)kernel;
    return broadcast_parts(p->rank, p->dims);
}

/* The sharing of an op in place says where else its operands may lie: all kernels go forward. */
static nnacl_lead flat_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    (void)params;
    (void)kernel;
    return index == 0 ? nnacl_lead_from(0) : nnacl_lead_none();
}

bool nnacl_binary_accepts_unclamped(const void *params) {
    const nnacl_binary_params *p = params;
    return p->clamp_min == -INFINITY && p->clamp_max == INFINITY;
}

static bool is_flat(int32_t rank, const int32_t *strides) {
    return rank == 1 && strides[0] == 1;
}

static nnacl_lead binary_lead(const void *params, const nnacl_kernel *kernel, int32_t index) {
    const nnacl_binary_params *p = params;
    (void)kernel;
    const bool flat = index < 2 && is_flat(p->rank, index == 0 ? p->a_strides : p->b_strides);
    return flat ? nnacl_lead_from(0) : nnacl_lead_none();
}

#define OP(op, struct_name, sharing, where_from)                                                                       \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #struct_name "_params",                                                                \
        .header = "elementwise/elementwise.h",                                                                         \
        .params_size = sizeof(nnacl_##struct_name##_params),                                                           \
        .alias = sharing,                                                                                              \
        .resize = op##_resize,                                                                                         \
        .parts = struct_name##_parts,                                                                                  \
        .lead = where_from,                                                                                            \
    };

#define RESIZE(op, function, ...)                                                                                      \
    static const char *op##_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,              \
                                   int32_t n_out) {                                                                    \
        return function(params, in, n_in, out, n_out, __VA_ARGS__);                                                    \
    }

#define UNARY(op, types)                                                                                               \
    RESIZE(op, resize_unary, types)                                                                                    \
    OP(op, unary, NNACL_ALIAS_IN_PLACE, flat_lead)

#define BINARY(op, types, scaled)                                                                                      \
    RESIZE(op, resize_binary, types, scaled)                                                                           \
    OP(op, binary, NNACL_ALIAS_IN_PLACE, binary_lead)

#define COMPARE(op, types)                                                                                             \
    RESIZE(op, resize_compare, types)                                                                                  \
    OP(op, compare, NNACL_ALIAS_NONE, NULL)

#define BITWISE(op)                                                                                                    \
    RESIZE(op, resize_bitwise, ALL_INTEGERS)                                                                           \
    OP(op, compare, NNACL_ALIAS_IN_PLACE, NULL)

UNARY(relu, FLOATS | F16)
UNARY(leaky_relu, FLOATS | F16)
UNARY(elu, F32 | F16)
UNARY(clip, FLOATS | F16)
UNARY(sigmoid, F32 | F16)
UNARY(tanh, F32 | F16)
UNARY(exp, F32)
UNARY(log, F32)
UNARY(sqrt, FLOATS)
UNARY(rsqrt, FLOATS)
UNARY(neg, FLOATS | INTEGERS)
UNARY(abs, FLOATS | INTEGERS)
UNARY(square, FLOATS | INTEGERS)
UNARY(sign, FLOATS | INTEGERS)
UNARY(floor, FLOATS)
UNARY(ceil, FLOATS)
UNARY(round, FLOATS)
UNARY(sin, F32)
UNARY(cos, F32)
UNARY(erf, F32)
UNARY(gelu, F32 | F16)
UNARY(softplus, F32)
UNARY(hard_sigmoid, F32 | F16)
UNARY(hard_swish, F32 | F16)
UNARY(silu, F32 | F16)
UNARY(reciprocal, FLOATS)
UNARY(tan, F32)
UNARY(asin, F32)
UNARY(acos, F32)
UNARY(atan, F32)
UNARY(sinh, F32)
UNARY(cosh, F32)
UNARY(asinh, F32)
UNARY(acosh, F32)
UNARY(atanh, F32)
UNARY(celu, F32)
UNARY(selu, F32)
UNARY(thresholded_relu, F32)
UNARY(shrink, F32)
UNARY(softsign, F32)
UNARY(mish, F32)
UNARY(swish, F32)
UNARY(logical_not, B8)
OP(lut, lut, NNACL_ALIAS_IN_PLACE, flat_lead)
OP(sigmoid_table, sigmoid_table, NNACL_ALIAS_IN_PLACE, flat_lead)

BINARY(add, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, true)
BINARY(sub, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, true)
BINARY(mul, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, true)
BINARY(div, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, true)
BINARY(max, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, false)
BINARY(min, FLOATS | F16 | S8 | S16 | WIDE_INTEGERS, false)
BINARY(pow, F32 | INTEGERS, false)
BINARY(squared_difference, FLOATS | INTEGERS, false)
BINARY(mod, FLOATS | WIDE_INTEGERS, false)
BINARY(fmod, FLOATS | WIDE_INTEGERS, false)
BINARY(prelu, FLOATS | S8 | S16, true)

RESIZE(is_nan, resize_classify, FLOATS)
OP(is_nan, unary, NNACL_ALIAS_NONE, NULL)
RESIZE(is_inf, resize_classify, FLOATS)
OP(is_inf, unary, NNACL_ALIAS_NONE, NULL)

COMPARE(equal, FLOATS | S8 | U8 | B8 | WIDE_INTEGERS)
COMPARE(not_equal, FLOATS | S8 | U8 | B8 | WIDE_INTEGERS)
COMPARE(less, FLOATS | S8 | U8 | WIDE_INTEGERS)
COMPARE(less_equal, FLOATS | S8 | U8 | WIDE_INTEGERS)
COMPARE(greater, FLOATS | S8 | U8 | WIDE_INTEGERS)
COMPARE(greater_equal, FLOATS | S8 | U8 | WIDE_INTEGERS)
COMPARE(logical_and, B8)
COMPARE(logical_or, B8)
COMPARE(logical_xor, B8)
BITWISE(bitwise_and)
BITWISE(bitwise_or)
BITWISE(bitwise_xor)
BITWISE(bit_shift_left)
BITWISE(bit_shift_right)
UNARY(bitwise_not, ALL_INTEGERS)
OP(where, where, NNACL_ALIAS_NONE, NULL)
