#include <string.h>

#include "checkasm.h"
#include "common/float_math.h"
#include "softmax/softmax.h"

static void draw(check_case *c) {
    nnacl_softmax_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench || check_chance(c, 10) ? 20000 : 800, dims);
    check_input(c, c->dtype, rank, dims);
    p->axis = check_chance(c, 60) ? rank - 1 : check_int(c, 0, rank - 1);
    p->beta = check_chance(c, 60) ? 1.0f : check_float(c, 0.1f, 2.0f);
    p->y_scale = check_chance(c, 50) ? 0.00390625f : check_float(c, 0.001f, 0.01f);
    p->y_zero = check_zero(c);
    p->rounding = c->bench ? 0 : check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_FLOAT_EVEN);
    p->to = NNACL_S8;
    const bool is_log = strcmp(c->op->name, "log_softmax") == 0;
    p->x_offset = is_log && c->dtype == NNACL_S8 && check_chance(c, 50) ? 128 : 0;
    p->x_scale = 0.1f;
    if (!is_log && p->rounding != NNACL_ROUND_FLOAT_EVEN && check_chance(c, 20)) {
        p->to = NNACL_S16;
        p->y_scale /= 256.0f;
        p->y_zero = check_int(c, -32768, 32767);
    }
    if (c->dtype == NNACL_S16) {
        check_multiplier(c, check_int(c, -4, 3), &p->mult, &p->shift);
        int16_t *curves = check_vector(c, NNACL_S16, 1026);
        check_mark_constant(c);
        for (int32_t i = 0; i < 513; i++) {
            curves[i] = (int16_t)(32767.0f * nnacl_expf((float)(i - 512) * (10.0f / 512.0f)));
            curves[513 + i] = (int16_t)(32767.0f * 512.0f / (float)(512 + i));
        }
    } else if (c->dtype == NNACL_S8) {
        const float scale = check_float(c, 0.001f, 0.3f);
        p->x_scale = scale;
        float *table = check_vector(c, NNACL_F32, 256);
        check_mark_constant(c);
        for (int32_t i = 0; i < 256; i++) {
            table[i] = nnacl_expf(scale * (float)(i - 255));
        }
    } else if (check_chance(c, 10)) {
        check_strew(c, 0);
    }
}

static const check_op ops[] = {{"softmax", draw}, {"log_softmax", draw}, {NULL, NULL}};

const check_family check_softmax = {"softmax", ops};
