#include "checkasm.h"
#include "pool/pool.h"

static void draw_window(check_case *c, int32_t size, int32_t *kernel, int32_t *stride, int32_t *dilation,
                        int32_t *before, int32_t *after, int32_t *extra) {
    const bool global = !c->bench && check_chance(c, 15);
    *kernel = global ? 0 : check_dim(c, 4, 2);
    *stride = c->bench ? 2 : check_int(c, 1, 3);
    *dilation = !c->bench && check_chance(c, 15) ? 2 : 1;
    const int32_t reach = ((global ? size : *kernel) - 1) * *dilation + 1;
    *before = c->bench ? 0 : check_int(c, 0, global ? 1 : *kernel - 1);
    *after = c->bench ? 0 : check_int(c, 0, global ? 1 : *kernel - 1);
    *extra = !c->bench && check_chance(c, 20) ? check_int(c, 1, 2) : 0;
    if (size + *before + *after < reach) {
        *after = reach - size - *before;
    }
}

static void draw(check_case *c) {
    nnacl_pool2d_params *p = (void *)&c->params;
    const int32_t dims[4] = {c->bench ? 1 : check_int(c, 1, 2), check_dim(c, 11, 32), check_dim(c, 11, 32),
                             check_dim(c, 40, 32)};
    draw_window(c, dims[1], &p->kernel_h, &p->stride_h, &p->dilation_h, &p->pad_top, &p->pad_bottom, &p->extra_bottom);
    draw_window(c, dims[2], &p->kernel_w, &p->stride_w, &p->dilation_w, &p->pad_left, &p->pad_right, &p->extra_right);
    p->count_include_pad = check_int(c, 0, 1);
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_quantized_range(c, &p->q_min, &p->q_max);
    if (c->dtype == NNACL_S16 && check_chance(c, 70)) {
        p->q_min = INT16_MIN;
        p->q_max = INT16_MAX;
    }
    if (c->dtype == NNACL_U8) {
        p->q_min = check_int(c, 0, 100);
        p->q_max = check_int(c, 100, UINT8_MAX);
    }
    p->x_zero = c->dtype == NNACL_U8 ? 0 : check_zero(c);
    p->y_zero = c->dtype == NNACL_U8 ? 0 : check_zero(c);
    p->halves_up = check_int(c, 0, 1);
    p->rounding = c->bench ? 0 : check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_FLOAT_EVEN);
    p->scale = check_chance(c, 50) ? 1.0f : check_float(c, 0.3f, 2.0f);
    check_input(c, c->dtype, 4, dims);
    if ((c->dtype == NNACL_F32 || c->dtype == NNACL_F16) && check_chance(c, 10)) {
        check_strew(c, 0);
    }
}

static const check_op ops[] = {{"max_pool2d", draw}, {"avg_pool2d", draw}, {NULL, NULL}};

const check_family check_pool = {"pool", ops};
