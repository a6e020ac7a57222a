#include <string.h>

#include "checkasm.h"
#include "dense/dense.h"

static void draw_dense(check_case *c) {
    nnacl_dense_params *p = (void *)&c->params;
    const bool is_float = c->dtype == NNACL_F32 || c->dtype == NNACL_F16;
    int32_t dims[4];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 4);
    for (int32_t i = 0; i < rank - 1; i++) {
        dims[i] = c->bench ? 16 : check_int(c, 1, 4);
    }
    const int32_t depth = check_dim(c, 150, 256);
    const int32_t units = check_dim(c, 50, 128);
    check_sum_tolerance(c, depth);
    dims[rank - 1] = depth;
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_quantized_range(c, &p->q_min, &p->q_max);
    if (c->dtype == NNACL_S16 && check_chance(c, 70)) {
        p->q_min = INT16_MIN;
        p->q_max = INT16_MAX;
    }
    p->x_zero = c->dtype == NNACL_S16 && check_chance(c, 70) ? 0 : check_zero(c);
    p->w_zero = c->bench || check_chance(c, 75) ? 0 : check_zero(c);
    p->y_zero = check_zero(c);
    p->rounding = c->bench ? 0 : check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_DOWN);
    check_input(c, c->dtype, rank, dims);
    const int32_t w_dims[2] = {units, depth};
    check_input(c, is_float ? c->dtype : NNACL_S8, 2, w_dims);
    check_mark_constant(c);
    const bool biased = check_chance(c, 75);
    if (biased) {
        const bool is_wide = c->dtype == NNACL_S16 && check_chance(c, 60);
        check_vector(c, is_float ? NNACL_F32 : is_wide ? NNACL_S64 : NNACL_S32, units);
        check_mark_constant(c);
    } else if (!is_float || check_chance(c, 50)) {
        check_absent(c);
    }
    if (!is_float) {
        check_requant(c, units, p->rounding, depth);
        check_mark_constant(c);
        if (!c->bench && check_chance(c, 15)) {
            check_zeros(c, units);
        }
    }
}

/* An operand of matmul: `batch` leading dimensions, of which some are 1 or left out. */
static void draw_operand(check_case *c, int32_t dtype, int32_t rank, const int32_t *batch, int32_t rows,
                         int32_t columns) {
    int32_t dims[NNACL_MAX_RANK];
    const int32_t dropped = check_chance(c, 30) ? check_int(c, 0, rank) : 0;
    int32_t n = 0;
    for (int32_t i = dropped; i < rank; i++) {
        dims[n++] = check_chance(c, 25) ? 1 : batch[i];
    }
    dims[n++] = rows;
    dims[n++] = columns;
    check_input(c, dtype, n, dims);
}

static void draw_matmul(check_case *c) {
    nnacl_matmul_params *p = (void *)&c->params;
    const bool is_integer = strcmp(c->op->name, "matmul_integer") == 0;
    const int32_t rank = c->bench ? 0 : check_int(c, 0, 3);
    int32_t batch[3];
    for (int32_t i = 0; i < rank; i++) {
        batch[i] = check_int(c, 1, 3);
    }
    const int32_t m = check_dim(c, 20, 64);
    const int32_t k = check_dim(c, 40, 64);
    const int32_t n = check_dim(c, 40, 64);
    check_sum_tolerance(c, k);
    p->transpose_a = c->bench ? 0 : check_int(c, 0, 1);
    p->transpose_b = c->bench ? 0 : check_int(c, 0, 1);
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_quantized_range(c, &p->q_min, &p->q_max);
    if (c->dtype == NNACL_S16 && check_chance(c, 70)) {
        p->q_min = INT16_MIN;
        p->q_max = INT16_MAX;
    }
    const bool is_plain = c->dtype == NNACL_S16 && check_chance(c, 70);
    p->a_zero = is_plain ? 0 : check_zero(c);
    p->b_zero = is_plain ? 0 : check_zero(c);
    p->y_zero = check_zero(c);
    p->rounding = c->bench ? 0 : check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_UP);
    check_multiplier(c, c->dtype == NNACL_S16 ? check_int(c, -22, -10) : check_int(c, -14, -6), &p->mult, &p->shift);
    p->scale = check_float(c, 0.0001f, 0.01f);
    const int32_t b_type = !is_integer ? c->dtype : check_chance(c, 50) ? NNACL_S8 : NNACL_U8;
    draw_operand(c, c->dtype, rank, batch, p->transpose_a ? k : m, p->transpose_a ? m : k);
    draw_operand(c, b_type, rank, batch, p->transpose_b ? n : k, p->transpose_b ? k : n);
    if (check_chance(c, 40)) {
        check_mark_constant(c);
    }
    if (c->dtype == NNACL_F32 && check_chance(c, 50)) {
        check_vector(c, NNACL_F32, n);
        check_mark_constant(c);
    }
    for (int32_t i = 0; is_integer && i < 2; i++) {
        if (check_chance(c, 50)) {
            check_zeros(c, check_chance(c, 50) ? 1 : i == 0 ? m : n);
        } else {
            check_absent(c);
        }
    }
}

static void draw_det(check_case *c) {
    const int32_t n = check_dim(c, 7, 32);
    const int32_t dims[3] = {check_int(c, 1, 5), n, n};
    check_input(c, NNACL_F32, 3, dims);
}

static const check_op ops[] = {
    {"dense", draw_dense}, {"matmul", draw_matmul}, {"matmul_integer", draw_matmul}, {"det", draw_det}, {NULL, NULL}};

const check_family check_dense = {"dense", ops};
