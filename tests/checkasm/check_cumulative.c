#include "checkasm.h"
#include "cumulative/cumulative.h"

static void draw(check_case *c) {
    nnacl_cumulative_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 50000 : 800, dims);
    check_input(c, c->dtype, rank, dims);
    p->axis = check_int(c, 0, rank - 1);
    p->exclusive = check_int(c, 0, 1);
    p->reverse = check_int(c, 0, 1);
    if (check_chance(c, 30)) {
        int64_t *axis = check_vector(c, NNACL_S64, 1);
        axis[0] = check_int(c, -rank, rank - 1);
        check_mark_constant(c);
    }
}

static const check_op ops[] = {{"cumsum", draw}, {"cumprod", draw}, {NULL, NULL}};

const check_family check_cumulative = {"cumulative", ops};
