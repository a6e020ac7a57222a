#include "checkasm.h"
#include "volume/volume.h"

/* Draws sizes and a window along one dimension that is there; `reach` of padded positions at least. */
static int32_t draw_size(check_case *c, int32_t kernel, int32_t dilation) {
    return (kernel - 1) * dilation + check_int(c, 1, 5);
}

static void draw_window(check_case *c, int32_t i, const int32_t *kernel, int32_t *stride, int32_t *before,
                        int32_t *after, int32_t *dilation) {
    stride[i] = c->bench ? 2 : check_int(c, 1, 3);
    dilation[i] = !c->bench && check_chance(c, 25) ? 2 : 1;
    before[i] = check_int(c, 0, kernel[i] - 1);
    after[i] = check_int(c, 0, kernel[i] - 1);
}

static void draw_conv3d(check_case *c) {
    nnacl_conv_nd_params *p = (void *)&c->params;
    int32_t dims[5] = {check_int(c, 1, 2)}, kernel[3];
    p->groups = check_chance(c, 70) ? 1 : check_int(c, 2, 3);
    const int32_t depth = check_dim(c, 6, 16), width = check_dim(c, 40, 16);
    for (int32_t i = 0; i < 3; i++) {
        kernel[i] = c->bench ? 3 : check_int(c, 1, 3);
        draw_window(c, i, kernel, p->stride, p->pad_before, p->pad_after, p->dilation);
        dims[1 + i] = c->bench ? 10 : draw_size(c, kernel[i], p->dilation[i]);
    }
    dims[4] = depth * p->groups;
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_input(c, NNACL_F32, 5, dims);
    check_input(c, NNACL_F32, 5, (const int32_t[]){kernel[0], kernel[1], kernel[2], depth, width * p->groups});
    check_mark_constant(c);
    if (check_chance(c, 60)) {
        check_vector(c, NNACL_F32, width * p->groups);
    }
    check_sum_tolerance(c, kernel[0] * kernel[1] * kernel[2] * depth);
}

static void draw_conv_transpose(check_case *c) {
    nnacl_conv_nd_params *p = (void *)&c->params;
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 3);
    int32_t kernel[3] = {1, 1, 1}, dims[5] = {check_int(c, 1, 2)}, weights[5], taps = 1;
    p->groups = c->dtype == NNACL_F32 && check_chance(c, 30) ? check_int(c, 2, 3) : 1;
    const int32_t depth = check_dim(c, 6, 32) * p->groups, width = check_dim(c, 40, 32);
    for (int32_t i = 0; i < 3; i++) {
        p->stride[i] = p->dilation[i] = 1;
        if (i < 3 - rank) {
            continue;
        }
        kernel[i] = c->bench ? 3 : check_int(c, 1, 3);
        draw_window(c, i, kernel, p->stride, p->pad_before, p->pad_after, p->dilation);
        p->pad_after[i] -= check_int(c, 0, 2);
        dims[i + rank - 2] = c->bench ? 20 : check_int(c, 3, 6);
        weights[i + rank - 3] = kernel[i];
        taps *= kernel[i];
    }
    dims[rank + 1] = depth;
    weights[rank] = depth;
    weights[rank + 1] = width;
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_quantized_range(c, &p->q_min, &p->q_max);
    p->x_zero = check_zero(c);
    p->w_zero = check_zero(c);
    p->y_zero = check_zero(c);
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_UP_BY_8);
    check_input(c, c->dtype, rank + 2, dims);
    check_input(c, c->dtype == NNACL_F32 ? NNACL_F32 : NNACL_S8, rank + 2, weights);
    check_mark_constant(c);
    if (check_chance(c, 60)) {
        const int32_t narrow = c->dtype == NNACL_F32 ? NNACL_F32 : NNACL_S32;
        check_vector(c, c->dtype == NNACL_S16 && check_chance(c, 50) ? NNACL_S64 : narrow, width * p->groups);
    } else {
        check_absent(c);
    }
    if (c->dtype != NNACL_F32) {
        check_requant(c, width, p->rounding, taps * depth);
        if (check_chance(c, 25)) {
            check_zeros(c, width);
        }
    }
    check_sum_tolerance(c, taps * depth);
}

static void draw_pool(check_case *c) {
    nnacl_pool_nd_params *p = (void *)&c->params;
    const int32_t rank = check_int(c, 1, 3);
    const bool global = !c->bench && check_chance(c, 10);
    int32_t dims[5] = {check_int(c, 1, 2)};
    for (int32_t i = 0; i < 3; i++) {
        p->kernel[i] = p->stride[i] = p->dilation[i] = 1;
        if (i < 3 - rank) {
            continue;
        }
        p->kernel[i] = check_int(c, 1, 3);
        if (!global) {
            draw_window(c, i, p->kernel, p->stride, p->pad_before, p->pad_after, p->dilation);
            p->extra[i] = check_int(c, 0, p->stride[i] - 1);
        }
        dims[i + rank - 2] = c->bench ? 12 : draw_size(c, p->kernel[i], p->dilation[i]);
    }
    for (int32_t i = 0; global && i < 3; i++) {
        p->kernel[i] = 0;
    }
    dims[rank + 1] = check_dim(c, 20, 32);
    p->p = check_int(c, 1, 4);
    check_input(c, c->dtype, rank + 2, dims);
    if (c->dtype == NNACL_F32 && check_chance(c, 10)) {
        check_strew(c, 0);
    }
    p->count_include_pad = check_int(c, 0, 1);
}

static void draw_max_pool(check_case *c) {
    nnacl_pool_nd_params *p = (void *)&c->params;
    draw_pool(c);
    p->with_indices = check_int(c, 0, 1);
    p->column_major = check_int(c, 0, 1);
    c->n_out = 1 + p->with_indices;
}

static void draw_max_unpool(check_case *c) {
    nnacl_max_unpool_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 30000 : 300, dims);
    check_input(c, c->dtype, rank, dims);
    int64_t *indices = check_input(c, NNACL_S64, rank, dims);
    int32_t most = 1;
    for (int32_t i = 0; i < rank; i++) {
        p->indexed[i] = dims[i] + check_int(c, 0, 2);
        const int32_t size = p->indexed[i] + check_int(c, -1, 2);
        p->shape[i] = size;
        most *= p->indexed[i];
    }
    for (int64_t i = 0; i < nnacl_element_count(&c->in[1]); i++) {
        indices[i] = check_chance(c, 2) ? INT64_MIN : check_int(c, -1, most);
    }
}

static const check_op ops[] = {
    {"conv3d", draw_conv3d},
    {"conv_transpose", draw_conv_transpose},
    {"max_pool_nd", draw_max_pool},
    {"avg_pool_nd", draw_pool},
    {"lp_pool", draw_pool},
    {"max_unpool", draw_max_unpool},
    {NULL, NULL},
};

const check_family check_volume = {"volume", ops};
