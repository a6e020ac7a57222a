#include "checkasm.h"
#include "ordered/ordered.h"

static void draw_conv2d(check_case *c) {
    nnacl_conv2d_ordered_params *p = (void *)&c->params;
    const int32_t depth = check_dim(c, 20, 32);
    p->groups = c->bench ? 1 : check_int(c, 1, 3);
    p->stride_h = c->bench ? 1 : check_int(c, 1, 2);
    p->stride_w = c->bench ? 1 : check_int(c, 1, 2);
    p->dilation_h = 1;
    p->dilation_w = c->bench ? 1 : check_int(c, 1, 2);
    p->pad_top = check_int(c, 0, 1);
    p->pad_left = check_int(c, 0, 1);
    p->pad_bottom = check_int(c, 0, 1);
    p->pad_right = check_int(c, 0, 1);
    const int32_t kernel_h = check_int(c, 1, 3);
    const int32_t kernel_w = check_int(c, 1, 3);
    const int32_t channels = p->groups * check_dim(c, 20, 32);
    const int32_t batch = c->bench ? 1 : check_int(c, 1, 2);
    const int32_t height = kernel_h + (c->bench ? 16 : check_int(c, 0, 5));
    const int32_t width = kernel_w * p->dilation_w + (c->bench ? 16 : check_int(c, 0, 5));
    const int32_t x[4] = {batch, height, width, p->groups * depth};
    const int32_t weights[4] = {depth, kernel_h, kernel_w, channels};
    check_input(c, NNACL_F32, 4, x);
    check_input(c, NNACL_F32, 4, weights);
    if (check_chance(c, 50)) {
        check_vector(c, NNACL_F32, channels);
    }
}

static void draw_matmul(check_case *c) {
    nnacl_matmul_ordered_params *p = (void *)&c->params;
    const int32_t batch = c->bench ? 1 : check_int(c, 1, 2);
    const int32_t rows = check_dim(c, 9, 64);
    const int32_t depth = check_dim(c, 300, 256);
    const int32_t columns = check_dim(c, 80, 64);
    const int32_t choice = check_int(c, 0, 4);
    p->transposed = choice == 1;
    p->packed = choice == 2;
    p->vector = choice == 3;
    p->a_transposed = choice == 4;
    const int32_t a[3] = {batch, rows, depth}, b[3] = {batch, depth, columns};
    check_input(c, NNACL_F32, 3, a);
    if (check_chance(c, 50)) {
        check_input(c, NNACL_F32, 3, b);
    } else {
        check_input(c, NNACL_F32, 2, b + 1);
    }
    if (check_chance(c, 50)) {
        check_vector(c, NNACL_F32, columns);
    }
}

static void draw_mean(check_case *c) {
    nnacl_mean_ordered_params *p = (void *)&c->params;
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 50000 : 800, dims);
    check_input(c, NNACL_F32, rank, dims);
    p->trailing = c->bench ? 1 : check_int(c, 1, rank);
    p->keep_dims = check_int(c, 0, 1);
    p->style = check_int(c, 0, 1);
    p->sum = check_int(c, 0, 1);
}

static void draw_pool(check_case *c) {
    nnacl_avg_pool2d_ordered_params *p = (void *)&c->params;
    const int32_t batch = c->bench ? 1 : check_int(c, 1, 2);
    const int32_t height = 4 + check_dim(c, 9, 28);
    const int32_t width = 4 + check_dim(c, 9, 28);
    const int32_t channels = check_dim(c, 9, 32);
    p->kernel_h = check_int(c, 1, 4);
    p->kernel_w = check_int(c, 1, 4);
    p->stride_h = check_int(c, 1, 3);
    p->stride_w = check_int(c, 1, 3);
    p->pad_top = check_int(c, 0, p->kernel_h - 1);
    p->pad_left = check_int(c, 0, p->kernel_w - 1);
    p->pad_bottom = check_int(c, 0, p->kernel_h - 1);
    p->pad_right = check_int(c, 0, p->kernel_w - 1);
    p->count_include_pad = check_int(c, 0, 1);
    p->style = check_int(c, 0, 1);
    const int32_t dims[4] = {batch, height, width, channels};
    check_input(c, NNACL_F32, 4, dims);
}

static void draw_function(check_case *c) {
    int32_t dims[NNACL_MAX_RANK];
    const int32_t rank = c->bench ? 2 : check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 50000 : 800, dims);
    check_input(c, NNACL_F32, rank, dims);
}

static const check_op ops[] = {{"conv2d_ordered", draw_conv2d},
                               {"matmul_ordered", draw_matmul},
                               {"mean_ordered", draw_mean},
                               {"avg_pool2d_ordered", draw_pool},
                               {"sigmoid_ordered", draw_function},
                               {"tanh_ordered", draw_function},
                               {NULL, NULL}};

const check_family check_ordered = {"ordered", ops};
