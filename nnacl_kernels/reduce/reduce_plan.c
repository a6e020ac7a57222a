/* SPDX-License-Identifier: Apache-2.0 */
/* The plan halves of the reductions. */
#include "common/data_input.h"
#include "common/plan_check.h"
#include "common/shape.h"
#include "reduce/reduce.h"

#define LEAST_ELEMENTS_PER_PART 16384
/* So many differences of two values can be summed in 32 bits. */
#define MOST_S8_PER_SUM (1 << 23)
#define MOST_S16_PER_SUM (1 << 15)

#define MOST_OFFSET (1 << 20)

/* What the resize of one op differs in. */
typedef struct reduce_kind {
    bool integers;   /* s32, s64 and u64 */
    bool scaled;     /* narrow integers are requantized */
    bool multiplies; /* they are multiplied, not summed */
    bool halves;     /* f16 */
} reduce_kind;

static const char *check_scaled(const nnacl_reduce_params *p, int32_t dtype, int64_t count, bool multiplies) {
    NNACL_REQUIRE(nnacl_plan_zero_ok(p->x_zero, dtype), "x_zero is outside the range of x");
    NNACL_REQUIRE(p->y_zero >= -MOST_OFFSET && p->y_zero <= MOST_OFFSET, "y_zero is outside -2^20 .. 2^20");
    NNACL_REQUIRE(nnacl_plan_range_ok(p->q_min, p->q_max, dtype), "q_min .. q_max is not a range within that of y");
    NNACL_REQUIRE(nnacl_plan_rounding_ok(p->rounding), "rounding is not a known contract");
    NNACL_REQUIRE(p->rounding == NNACL_ROUND_FLOAT_EVEN ? p->scale > 0.0f && p->scale <= 3.4e38f
                                                        : nnacl_plan_requant_ok(p->mult, p->shift),
                  "the scale is not positive and finite, or the multiplier is negative or its shift outside -62 .. 30");
    if (multiplies) {
        NNACL_REQUIRE(p->rounding != NNACL_ROUND_FLOAT_EVEN,
                      "products of narrow integers are not defined for float-even");
        NNACL_REQUIRE(count > 0, "a product of narrow integers has no factors");
        return NULL;
    }
    NNACL_REQUIRE(count <= (dtype == NNACL_S8 ? MOST_S8_PER_SUM : MOST_S16_PER_SUM),
                  "more than 2^23 elements (s16: 2^15) are summed into one");
    return NULL;
}

/* Takes the axes from input 1, if that is present. */
static const char *read_axes(nnacl_reduce_params *p, const nnacl_tensor *in, int32_t n_in) {
    int64_t values[NNACL_MAX_RANK];
    int32_t count;
    const char *message = nnacl_data_input(in, n_in, 1, NNACL_MAX_RANK, values, &count);
    if (message || count < 0) {
        return message;
    }
    p->axes = count == 0 && !p->noop_if_empty ? (1 << in[0].rank) - 1 : 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t bit = nnacl_data_axis_bit(values[i], in[0].rank);
        NNACL_REQUIRE(bit != 0, "axes names a dimension that the input does not have");
        p->axes |= bit;
    }
    return NULL;
}

static const char *resize_reduce(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out,
                                 reduce_kind kind) {
    nnacl_reduce_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 2, n_out);
    NNACL_REQUIRE(!message, message);
    NNACL_REQUIRE(p->noop_if_empty == 0 || p->noop_if_empty == 1, "noop_if_empty is neither 0 nor 1");
    message = read_axes(p, in, n_in);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    const bool is_integer = x->dtype == NNACL_S32 || x->dtype == NNACL_S64 || x->dtype == NNACL_U64;
    const bool is_float = x->dtype == NNACL_F32 || x->dtype == NNACL_F64 || (kind.halves && x->dtype == NNACL_F16);
    const bool is_narrow = x->dtype == NNACL_S8 || x->dtype == NNACL_S16;
    NNACL_REQUIRE(is_float || (kind.integers && is_integer) || is_narrow,
                  "the op is not defined for the element type of its input");
    NNACL_REQUIRE(p->axes >= 0 && p->axes < 1 << x->rank, "axes names a dimension that the input does not have");
    NNACL_REQUIRE(p->keep_dims == 0 || p->keep_dims == 1, "keep_dims is neither 0 nor 1");
    int32_t kept[NNACL_MAX_RANK];
    int32_t rank = 0;
    int64_t count = 1;
    p->rank = 0;
    p->reduced = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        const int32_t dim = x->dims[i];
        const int32_t is_reduced = p->axes >> i & 1;
        if (!is_reduced || p->keep_dims) {
            kept[rank++] = is_reduced ? 1 : dim;
        }
        count *= is_reduced ? dim : 1;
        if (dim == 1) {
            continue;
        }
        if (p->rank > 0 && (p->reduced >> (p->rank - 1) & 1) == is_reduced) {
            p->dims[p->rank - 1] *= dim;
        } else {
            p->reduced |= is_reduced << p->rank;
            p->dims[p->rank++] = dim;
        }
    }
    message = nnacl_shape_set(&out[0], x->dtype, rank, kept);
    NNACL_REQUIRE(!message, message);
    if (kind.scaled && is_narrow) {
        message = check_scaled(p, x->dtype, count, kind.multiplies);
        NNACL_REQUIRE(!message, message);
    }
    if (p->rank == 0) {
        p->dims[p->rank++] = 1;
    }
    for (int32_t i = p->rank; i < NNACL_MAX_RANK; i++) {
        p->dims[i] = 0;
    }
    return NULL;
}

bool nnacl_reduce_accepts_columns(const void *params) {
    const nnacl_reduce_params *p = params;
    return (p->rank == 2 && p->reduced == 1) || (p->rank == 3 && p->reduced == 2);
}

static int32_t reduce_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_reduce_params *p = params;
    (void)kernel;
    int64_t outputs = 1;
    int64_t count = 1;
    for (int32_t i = 0; i < p->rank; i++) {
        outputs *= p->reduced >> i & 1 ? 1 : p->dims[i];
        count *= p->dims[i];
    }
    const int32_t parts = nnacl_shape_parts(count, LEAST_ELEMENTS_PER_PART);
    return outputs < 1 ? 1 : parts < outputs ? parts : (int32_t)outputs;
}

static const char *resize_arg(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out, int32_t n_out) {
    nnacl_arg_params *p = params;
    const char *message = nnacl_shape_check(in, n_in, 1, 1, n_out);
    NNACL_REQUIRE(!message, message);
    const nnacl_tensor *x = &in[0];
    NNACL_REQUIRE(x->dtype == NNACL_F32 || x->dtype == NNACL_S8 || x->dtype == NNACL_U8 || x->dtype == NNACL_S32 ||
                      x->dtype == NNACL_S64 || x->dtype == NNACL_U64 || x->dtype == NNACL_F64,
                  "the op is not defined for the element type of its input");
    NNACL_REQUIRE(p->axis >= 0 && p->axis < x->rank, "axis is not a dimension of the input");
    NNACL_REQUIRE(p->keep_dims == 0 || p->keep_dims == 1, "keep_dims is neither 0 nor 1");
    NNACL_REQUIRE(p->select_last == 0 || p->select_last == 1, "select_last is neither 0 nor 1");
    NNACL_REQUIRE(p->to == NNACL_S32 || p->to == NNACL_S64, "`to` is neither s32 nor s64");
    int32_t kept[NNACL_MAX_RANK];
    int32_t rank = 0;
    p->depth = x->dims[p->axis];
    NNACL_REQUIRE(p->depth > 0, "there is nothing to choose from in an empty dimension");
    p->outer = nnacl_shape_product(x, 0, p->axis);
    p->inner = nnacl_shape_product(x, p->axis + 1, x->rank);
    for (int32_t i = 0; i < x->rank; i++) {
        if (i != p->axis || p->keep_dims) {
            kept[rank++] = i == p->axis ? 1 : x->dims[i];
        }
    }
    return nnacl_shape_set(&out[0], p->to, rank, kept);
}

static int32_t arg_parts(const void *params, const nnacl_kernel *kernel) {
    const nnacl_arg_params *p = params;
    (void)kernel;
    const int64_t outputs = (int64_t)p->outer * p->inner;
    const int32_t parts = nnacl_shape_parts(outputs * p->depth, LEAST_ELEMENTS_PER_PART);
    return outputs < 1 ? 1 : parts < outputs ? parts : (int32_t)outputs;
}

#define OP(op, struct_name, function, values)                                                                          \
    const nnacl_op nnacl_##op##_op = {                                                                                 \
        .name = #op,                                                                                                   \
        .params_name = "nnacl_" #struct_name "_params",                                                                \
        .header = "reduce/reduce.h",                                                                                   \
        .params_size = sizeof(nnacl_##struct_name##_params),                                                           \
        .alias = NNACL_ALIAS_NONE,                                                                                     \
        .resize = function,                                                                                            \
        .parts = struct_name##_parts,                                                                                  \
        .data_inputs = values,                                                                                         \
    };

#define REDUCE(op, integers, scaled, multiplies, halves)                                                               \
    static const char *op##_resize(void *params, const nnacl_tensor *in, int32_t n_in, nnacl_tensor *out,              \
                                   int32_t n_out) {                                                                    \
        const reduce_kind kind = {integers, scaled, multiplies, halves};                                               \
        return resize_reduce(params, in, n_in, out, n_out, kind);                                                      \
    }                                                                                                                  \
    OP(op, reduce, op##_resize, 1 << 1)

REDUCE(reduce_mean, false, true, false, true)
REDUCE(reduce_sum, true, true, false, false)
REDUCE(reduce_max, true, false, false, false)
REDUCE(reduce_min, true, false, false, false)
REDUCE(reduce_prod, true, true, true, false)
OP(argmax, arg, resize_arg, 0)
OP(argmin, arg, resize_arg, 0)
