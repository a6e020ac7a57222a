#include "checkasm.h"
#include "reduce/reduce.h"

static void draw_reduce(check_case *c) {
    nnacl_reduce_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 4 : check_int(c, 0, check_chance(c, 10) ? 8 : 4);
    check_shape(c, rank, c->bench ? 50000 : check_chance(c, 5) && c->dtype != NNACL_S16 ? 60000 : 2000, dims);
    check_input(c, c->dtype, rank, dims);
    p->axes = c->bench ? 6 : check_int(c, 0, (1 << rank) - 1);
    if (rank > 1 && !c->bench && check_chance(c, 30)) { /* columns */
        p->axes = 1 << (rank - 2);
    }
    p->keep_dims = check_int(c, 0, 1);
    p->x_zero = check_zero(c);
    p->y_zero = check_zero(c);
    check_quantized_range(c, &p->q_min, &p->q_max);
    if (c->dtype == NNACL_S16 && check_chance(c, 70)) {
        p->q_min = INT16_MIN;
        p->q_max = INT16_MAX;
    }
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_DOWN);
    check_multiplier(c, check_int(c, -8, 0), &p->mult, &p->shift);
    p->scale = check_float(c, 0.001f, 1.0f);
}

static void draw_product(check_case *c) {
    nnacl_reduce_params *p = (void *)&c->params;
    draw_reduce(c);
    p->rounding = check_chance(c, 50) ? NNACL_ROUND_TFLITE_DOUBLE : NNACL_ROUND_SINGLE;
}

static void draw_arg(check_case *c) {
    nnacl_arg_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 3 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 50000 : check_chance(c, 5) ? 60000 : 1000, dims);
    check_input(c, c->dtype, rank, dims);
    p->axis = check_int(c, 0, rank - 1);
    p->keep_dims = check_int(c, 0, 1);
    p->select_last = check_int(c, 0, 1);
    p->to = check_chance(c, 50) ? NNACL_S32 : NNACL_S64;
}

static const check_op ops[] = {
    {"reduce_mean", draw_reduce},  {"reduce_sum", draw_reduce},
    {"reduce_max", draw_reduce},   {"reduce_min", draw_reduce},
    {"reduce_prod", draw_product}, {"argmax", draw_arg},
    {"argmin", draw_arg},          {NULL, NULL},
};

const check_family check_reduce = {"reduce", ops};
