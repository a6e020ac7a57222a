#include "checkasm.h"
#include "norm/norm.h"

/* A shape whose dimensions from `axis` on have at least two elements. */
static int32_t draw_shape(check_case *c, int32_t *dims) {
    const int32_t rank = c->bench ? 3 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 20000 : 800, dims);
    if (dims[rank - 1] == 1) {
        dims[rank - 1] = 2;
    }
    return rank;
}

/* Adds an optional vector or tensor that has the dimensions given. */
static void draw_optional(check_case *c, int32_t rank, const int32_t *dims) {
    if (check_chance(c, 70)) {
        check_input(c, NNACL_F32, rank, dims);
    } else {
        check_absent(c);
    }
}

static void draw_rows(check_case *c, int32_t weights) {
    nnacl_norm_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_shape(c, dims);
    check_input(c, c->dtype, rank, dims);
    p->x_scale = check_float(c, 0.005f, 0.2f);
    p->y_scale = check_float(c, 0.005f, 0.1f);
    p->y_zero = check_zero(c);
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_FLOAT_EVEN);
    p->axis = check_chance(c, 60) ? rank - 1 : check_int(c, 0, rank - 1);
    p->epsilon = check_power(c, -8);
    for (int32_t i = 0; i < weights; i++) {
        draw_optional(c, rank - p->axis, dims + p->axis);
    }
    c->relative = 1e-5;
}

static void draw_layer_norm(check_case *c) {
    ((nnacl_norm_params *)(void *)&c->params)->with_statistics = c->dtype == NNACL_F32 ? check_int(c, 0, 1) : 0;
    c->n_out = ((nnacl_norm_params *)(void *)&c->params)->with_statistics ? 3 : 1;
    draw_rows(c, 2);
}

static void draw_rms_norm(check_case *c) {
    draw_rows(c, 1);
}

static void draw_group_norm(check_case *c) {
    nnacl_group_norm_params *p = (void *)&c->params;
    p->groups = check_int(c, 1, 8);
    p->epsilon = check_power(c, -8);
    int32_t dims[4];
    const int32_t rank = check_int(c, 3, 4);
    check_shape(c, rank, c->bench ? 20000 : 300, dims);
    dims[rank - 1] = p->groups * check_int(c, 1, 6);
    dims[1] = dims[1] == 1 ? 5 : dims[1];
    check_input(c, NNACL_F32, rank, dims);
    draw_optional(c, 1, &dims[rank - 1]);
    draw_optional(c, 1, &dims[rank - 1]);
    c->relative = 1e-5;
}

static void draw_lrn(check_case *c) {
    nnacl_lrn_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_shape(c, dims);
    check_input(c, NNACL_F32, rank, dims);
    p->before = check_int(c, 0, 4);
    p->after = check_int(c, 0, 4);
    p->alpha = check_float(c, 0.0f, 1.0f);
    p->beta = check_chance(c, 50) ? 0.75f : check_float(c, 0.2f, 1.5f);
    p->bias = check_float(c, 0.5f, 2.0f);
}

static void draw_l2_norm(check_case *c) {
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = draw_shape(c, dims);
    check_input(c, NNACL_S8, rank, dims);
    nnacl_l2_norm_params *p = (void *)&c->params;
    p->x_zero = check_zero(c);
    p->scaled_first = check_int(c, 0, 1);
}

static const check_op ops[] = {{"l2_norm", draw_l2_norm},   {"layer_norm", draw_layer_norm},
                               {"rms_norm", draw_rms_norm}, {"group_norm", draw_group_norm},
                               {"lrn", draw_lrn},           {NULL, NULL}};

const check_family check_norm = {"norm", ops};
