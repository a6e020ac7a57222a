#include <string.h>

#include "checkasm.h"
#include "elementwise/elementwise.h"

static bool is(const check_case *c, const char *op) {
    return strcmp(c->op->name, op) == 0;
}

static void draw_unary(check_case *c) {
    nnacl_unary_params *p = (void *)&c->params;
    check_vector(c, c->dtype, check_dim(c, check_chance(c, 5) ? 50000 : 300, 20000));
    p->alpha = check_float(c, -2.0f, 2.0f);
    p->beta = check_float(c, -2.0f, 2.0f);
    if (is(c, "gelu")) {
        p->alpha = (float)check_int(c, 0, 1);
    } else if (is(c, "clip")) {
        check_clamp(c, &p->alpha, &p->beta);
    }
    if ((c->dtype == NNACL_F32 || c->dtype == NNACL_F16) && !c->bench && check_chance(c, 30)) {
        check_strew(c, 0);
    }
}

static void draw_lut(check_case *c) {
    check_vector(c, c->dtype, check_dim(c, check_chance(c, 5) ? 50000 : 300, 20000));
    check_vector(c, c->dtype, c->dtype == NNACL_S8 ? 256 : 513);
    check_mark_constant(c);
}

/* Adds `count` operands whose shapes broadcast together; operand i has type types[i]. */
static void draw_operands(check_case *c, int32_t count, const int32_t *types) {
    int32_t full[NNACL_MAX_RANK];
    const bool alike = c->bench || check_chance(c, 30);
    const int32_t rank = c->bench ? 3 : check_int(c, 0, check_chance(c, 10) ? 8 : 4);
    check_shape(c, rank, c->bench ? 20000 : check_chance(c, 5) ? 50000 : 1500, full);
    for (int32_t t = 0; t < count; t++) {
        int32_t dims[NNACL_MAX_RANK] = {0};
        int32_t dropped = 0;
        for (int32_t i = 0; i < rank; i++) {
            dims[i] = !alike && check_chance(c, 30) ? 1 : full[i];
        }
        while (!alike && dropped < rank && (dims[dropped] == 1 || t > 0) && check_chance(c, 40)) {
            dropped++;
        }
        check_input(c, types[t], rank - dropped, dims + dropped);
        if ((types[t] == NNACL_F32 || types[t] == NNACL_F16) && !c->moves && !c->bench && check_chance(c, 20)) {
            check_strew(c, t);
        }
    }
}

static void draw_binary(check_case *c) {
    nnacl_binary_params *p = (void *)&c->params;
    const int32_t types[2] = {c->dtype, c->dtype};
    draw_operands(c, 2, types);
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_quantized_range(c, &p->q_min, &p->q_max);
    p->a_zero = check_zero(c);
    p->b_zero = check_zero(c);
    p->y_zero = check_zero(c);
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_DOWN);
    if (c->dtype == NNACL_S8 && !c->bench && check_chance(c, 30)) {
        p->rounding = NNACL_ROUND_FLOAT_EVEN;
    }
    if (c->dtype == NNACL_S16) {
        if (p->rounding != NNACL_ROUND_FLOAT_EVEN) {
            p->a_zero = p->b_zero = 0;
        }
        if (check_chance(c, 70)) {
            p->q_min = INT16_MIN;
            p->q_max = INT16_MAX;
        }
    }
    const bool is_product = is(c, "mul") || is(c, "div") || is(c, "prelu");
    p->left_shift = check_chance(c, 80) ? 20 : check_int(c, 0, 20);
    check_multiplier(c, check_int(c, -6, 0), &p->a_mult, &p->a_shift);
    check_multiplier(c, check_int(c, -6, 0), &p->b_mult, &p->b_shift);
    check_multiplier(c, is_product ? -6 : -p->left_shift, &p->y_mult, &p->y_shift);
    const int32_t lowest = p->a_shift < p->b_shift ? p->a_shift : p->b_shift;
    if (check_chance(c, 50) && lowest < 0 && p->left_shift + lowest >= 0) { /* as the converter does it */
        p->left_shift += lowest;
        p->a_shift -= lowest;
        p->b_shift -= lowest;
    }
    p->a_scale = check_power(c, check_int(c, -8, 0));
    p->b_scale = check_power(c, check_int(c, -8, 0));
    p->y_scale = is_product ? p->a_scale * p->b_scale * 100.0f : p->a_scale + p->b_scale;
    if (c->dtype == NNACL_S32 || c->dtype == NNACL_S64 || c->dtype == NNACL_U64) {
        /* Divisors that are special: 0 and -1. */
        const int64_t count = nnacl_element_count(&c->in[1]);
        for (int64_t i = 0; i < count; i += check_int(c, 1, 5)) {
            const int32_t divisor = -check_int(c, 0, 1);
            if (c->dtype == NNACL_S32) {
                ((int32_t *)c->data[1])[i] = divisor;
            } else {
                ((int64_t *)c->data[1])[i] = divisor;
            }
        }
    }
}

static void draw_sigmoid_table(check_case *c) {
    nnacl_sigmoid_table_params *p = (void *)&c->params;
    p->tanh = check_int(c, 0, 1);
    p->mult = check_chance(c, 20) ? 0 : check_int(c, 1, 1 << 16);
    p->shift = p->mult == 0 ? check_int(c, 0, 1) : check_int(c, 8, 18);
    check_vector(c, NNACL_S16, check_dim(c, check_chance(c, 5) ? 50000 : 300, 20000));
    uint16_t *table = check_vector(c, NNACL_U16, 256);
    check_mark_constant(c);
    for (int32_t i = 0; i < 256; i++) {
        table[i] = (uint16_t)(65535 - 32767 * 16 / (i + 16));
    }
}

static void draw_compare(check_case *c) {
    const int32_t types[2] = {c->dtype, c->dtype};
    draw_operands(c, 2, types);
    if (c->in[0].rank == c->in[1].rank && nnacl_element_count(&c->in[0]) == nnacl_element_count(&c->in[1])) {
        /* Some equal elements; random ones hardly ever are. */
        memcpy(c->data[1], c->data[0], (size_t)(nnacl_element_count(&c->in[0]) / 2) * nnacl_dtype_size(c->in[0].dtype));
    }
}

static void draw_bitwise(check_case *c) {
    const int32_t types[2] = {c->dtype, c->dtype};
    draw_operands(c, 2, types);
    const size_t size = nnacl_dtype_size(c->dtype);
    const int64_t count = nnacl_element_count(&c->in[1]);
    for (int64_t i = 0; i < count; i++) { /* places that a shift can have, or not quite */
        memset((char *)c->data[1] + (size_t)i * size, 0, size);
        ((uint8_t *)c->data[1])[(size_t)i * size] = (uint8_t)check_int(c, 0, 70);
    }
}

static void draw_where(check_case *c) {
    static const int32_t values[] = {NNACL_F32, NNACL_S8, NNACL_S16, NNACL_S32, NNACL_S64, NNACL_B8};
    const int32_t type = values[check_int(c, 0, 5)];
    const int32_t types[3] = {NNACL_B8, type, type};
    draw_operands(c, 3, types);
}

/* Numbers of fused_functions.def that give the same bits everywhere, simple ones and such as call a kernel. */
static const int32_t pairs[] = {0, 1, 2, 3, 4, 5, 9, 10};
static const int32_t singles[] = {11, 16, 17, 19, 20, 21, 22, 31, 32, 33, 34, 36};
enum { LESS = 55, NOT = 64, WHERE = 65 };

/* Appends a step and returns the operand that is its result. */
static int32_t add_step(nnacl_fused_params *p, int32_t function, int32_t x, int32_t y, int32_t z) {
    p->steps[p->step_count] = function | x << 8 | y << 16 | z << 24;
    return NNACL_FUSED_STEP + p->step_count++;
}

/* A random program in which every result is used; the last step takes what is left together. */
static void draw_fused(check_case *c) {
    nnacl_fused_params *p = (void *)&c->params;
    const int32_t inputs = check_int(c, 1, 3);
    const bool condition = inputs == 3 && check_chance(c, 50);
    const int32_t types[3] = {NNACL_F32, NNACL_F32, condition ? NNACL_B8 : NNACL_F32};
    draw_operands(c, inputs, types);
    p->constant_count = 3;
    check_clamp(c, &p->constants[0], &p->constants[1]);
    p->constants[2] = check_float(c, -2.0f, 2.0f);
    const int32_t floats = condition ? 2 : inputs;
    int32_t last = check_int(c, 0, floats - 1);
    if (condition) {
        const int32_t test = check_chance(c, 50) ? add_step(p, NOT, 2, NNACL_FUSED_CONSTANT, NNACL_FUSED_CONSTANT) : 2;
        last = add_step(p, WHERE, test, last, check_int(c, 0, 1));
    }
    const int32_t length = check_int(c, 1, 6);
    for (int32_t i = 0; i < length; i++) {
        const int32_t any = check_int(c, 0, 3);
        const int32_t other = any < floats ? any : NNACL_FUSED_CONSTANT + 2;
        const int32_t kind = check_int(c, 0, 2);
        if (kind == 0) {
            const int32_t function = singles[check_int(c, 0, (int32_t)(sizeof singles / sizeof singles[0]) - 1)];
            last = add_step(p, function, last, NNACL_FUSED_CONSTANT, NNACL_FUSED_CONSTANT + 1);
        } else if (kind == 1) {
            const int32_t function = pairs[check_int(c, 0, (int32_t)(sizeof pairs / sizeof pairs[0]) - 1)];
            last = check_chance(c, 50) ? add_step(p, function, last, other, 0) : add_step(p, function, other, last, 0);
        } else {
            const int32_t test = add_step(p, LESS, last, other, 0);
            last = add_step(p, WHERE, test, last, NNACL_FUSED_CONSTANT);
        }
    }
    c->relative = c->absolute = 0.0;
}

static const check_op ops[] = {
    {"relu", draw_unary},
    {"leaky_relu", draw_unary},
    {"elu", draw_unary},
    {"clip", draw_unary},
    {"sigmoid", draw_unary},
    {"tanh", draw_unary},
    {"exp", draw_unary},
    {"log", draw_unary},
    {"sqrt", draw_unary},
    {"rsqrt", draw_unary},
    {"neg", draw_unary},
    {"abs", draw_unary},
    {"square", draw_unary},
    {"sign", draw_unary},
    {"floor", draw_unary},
    {"ceil", draw_unary},
    {"round", draw_unary},
    {"sin", draw_unary},
    {"cos", draw_unary},
    {"erf", draw_unary},
    {"gelu", draw_unary},
    {"softplus", draw_unary},
    {"hard_sigmoid", draw_unary},
    {"hard_swish", draw_unary},
    {"silu", draw_unary},
    {"reciprocal", draw_unary},
    {"tan", draw_unary},
    {"asin", draw_unary},
    {"acos", draw_unary},
    {"atan", draw_unary},
    {"sinh", draw_unary},
    {"cosh", draw_unary},
    {"asinh", draw_unary},
    {"acosh", draw_unary},
    {"atanh", draw_unary},
    {"celu", draw_unary},
    {"selu", draw_unary},
    {"thresholded_relu", draw_unary},
    {"shrink", draw_unary},
    {"softsign", draw_unary},
    {"mish", draw_unary},
    {"swish", draw_unary},
    {"is_nan", draw_unary},
    {"is_inf", draw_unary},
    {"logical_not", draw_unary},
    {"lut", draw_lut},
    {"sigmoid_table", draw_sigmoid_table},
    {"add", draw_binary},
    {"sub", draw_binary},
    {"mul", draw_binary},
    {"div", draw_binary},
    {"max", draw_binary},
    {"min", draw_binary},
    {"pow", draw_binary},
    {"squared_difference", draw_binary},
    {"mod", draw_binary},
    {"fmod", draw_binary},
    {"prelu", draw_binary},
    {"equal", draw_compare},
    {"not_equal", draw_compare},
    {"less", draw_compare},
    {"less_equal", draw_compare},
    {"greater", draw_compare},
    {"greater_equal", draw_compare},
    {"logical_and", draw_compare},
    {"logical_or", draw_compare},
    {"logical_xor", draw_compare},
    {"where", draw_where},
    {"bitwise_and", draw_bitwise},
    {"bitwise_or", draw_bitwise},
    {"bitwise_xor", draw_bitwise},
    {"bit_shift_left", draw_bitwise},
    {"bit_shift_right", draw_bitwise},
    {"bitwise_not", draw_unary},
    {"fused_elementwise", draw_fused},
    {NULL, NULL},
};

const check_family check_elementwise = {"elementwise", ops};
