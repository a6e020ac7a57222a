#include "checkasm.h"
#include "signal/signal.h"

static void draw_dft(check_case *c) {
    nnacl_dft_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 3);
    check_shape(c, rank, c->bench ? 4000 : 300, dims);
    dims[rank] = check_int(c, 1, 2);
    check_input(c, c->dtype, rank + 1, dims);
    p->axis = check_int(c, 0, rank - 1);
    p->inverse = check_int(c, 0, 1);
    p->onesided = check_int(c, 0, 1);
    p->length = check_chance(c, 50) ? 0 : check_int(c, 1, 40);
    if (p->inverse && p->onesided && dims[p->axis] == 1 && p->length == 0) {
        p->length = 1;
    }
    if (check_chance(c, 30)) {
        int32_t *length = check_vector(c, NNACL_S32, 1);
        length[0] = check_int(c, 1, 40);
        check_mark_constant(c);
    }
}

static const check_op ops[] = {{"dft", draw_dft}, {NULL, NULL}};

const check_family check_signal = {"signal", ops};
