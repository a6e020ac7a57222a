#include <math.h>
#include <string.h>

#include "checkasm.h"
#include "conv/conv.h"

/* The window that Winograd's kernels are for. */
static void draw_3x3(check_case *c, nnacl_conv2d_params *p) {
    p->stride_h = p->stride_w = p->dilation_h = p->dilation_w = 1;
    p->pad_top = check_int(c, 0, 2);
    p->pad_left = check_int(c, 0, 2);
    p->pad_bottom = check_int(c, 2, 3);
    p->pad_right = check_int(c, 2, 3);
}

/* The tolerance where Winograd's F(4,3) may compute the sums: by its transforms and the sizes of inputs and weights.
 * The size of the output says nothing, as the clamp and terms that cancel make it small. An output is, for a channel,
 *
 *     y[i][l] = sum over j, k of A[i][j] A[l][k] (G g G')[j][k] (B d B')[j][k]
 *
 * With independent inputs d and weights g of deviations s_d and s_g, the root of the sum of the squares of these terms
 * over all channels is at most
 *
 *     s = s_d s_g sqrt(in_c) F,  F = max over i of sum over j of A[i][j]^2 |G[j]|^2 |B[j]|^2
 *
 * F is 26.32 for the points 0, 3/4, -3/4, 3/2, -3/2 and infinity, in row 3; in a direct sum 3 stands in its place. A
 * term is rounded n = in_c + 14 times: in the sum over the channels, 3 times in either transform along either axis, as
 * a weight, and with the bias. A rounding is off by 2^-24 / sqrt(3) of the value, as deviation. Numbers evenly in
 * -4 .. 4 have s_d = s_g = 4 / sqrt(3). Allowed are six deviations: 6 * 2^-24 / sqrt(3) * sqrt(n) * s. */
static void winograd_tolerance(check_case *c, int32_t in_c) {
    const double spread = 16.0 / 3.0 * sqrt((double)in_c) * 26.32;
    c->absolute = 6.0 * 0x1p-24 / sqrt(3.0) * sqrt(in_c + 14.0) * spread;
}

/* A window along one axis of `size`: kernel, stride, dilation and padding that fit it. */
static void draw_window(check_case *c, int32_t size, int32_t kernel, int32_t *stride, int32_t *dilation,
                        int32_t *before, int32_t *after) {
    *stride = c->bench ? 1 : check_int(c, 1, 3);
    *dilation = !c->bench && kernel > 1 && check_chance(c, 20) ? check_int(c, 2, 3) : 1;
    const int32_t reach = (kernel - 1) * *dilation + 1;
    *before = c->bench || check_chance(c, 50) ? reach / 2 : check_int(c, 0, reach);
    *after = c->bench || check_chance(c, 50) ? reach / 2 : check_int(c, 0, reach);
    if (size + *before + *after < reach) {
        *after = reach - size - *before;
    }
}

static void draw(check_case *c) {
    nnacl_conv2d_params *p = (void *)&c->params;
    const bool depthwise = strcmp(c->op->name, "depthwise_conv2d") == 0;
    const bool is_float = c->dtype == NNACL_F32 || c->dtype == NNACL_F16;
    int32_t groups = c->bench || check_chance(c, 70) ? 1 : check_int(c, 2, 4);
    int32_t group_in = !c->bench && check_chance(c, 20) ? check_int(c, 1, 4) : check_dim(c, 20, 32);
    int32_t out_c = groups * check_dim(c, 20, 32);
    if (depthwise) {
        groups = !c->bench && check_chance(c, 50) ? 8 << check_int(c, 0, 3) : check_dim(c, 40, 64);
        group_in = 1;
        out_c = groups * (c->bench || check_chance(c, 70) ? 1 : check_int(c, 2, 3));
    }
    const int32_t x_dims[4] = {c->bench ? 1 : check_int(c, 1, 2), check_dim(c, 12, 24), check_dim(c, 12, 24),
                               groups * group_in};
    const bool pointwise = !c->bench && check_chance(c, 25),
               plain = !c->bench && !pointwise && check_chance(c, depthwise ? 60 : 30);
    const int32_t kernel_h = pointwise ? 1 : plain ? 3 : check_dim(c, 5, 3);
    const int32_t kernel_w = pointwise ? 1 : plain ? 3 : check_dim(c, 5, 3);
    draw_window(c, x_dims[1], kernel_h, &p->stride_h, &p->dilation_h, &p->pad_top, &p->pad_bottom);
    draw_window(c, x_dims[2], kernel_w, &p->stride_w, &p->dilation_w, &p->pad_left, &p->pad_right);
    if (plain) {
        draw_3x3(c, p);
    }
    p->groups = groups;
    check_sum_tolerance(c, kernel_h * kernel_w * group_in);
    const bool steps = p->stride_h > 1 || p->stride_w > 1 || p->dilation_h > 1 || p->dilation_w > 1;
    if (c->dtype == NNACL_F32 && kernel_h == 3 && kernel_w == 3 && !steps && groups == 1 && group_in >= 8 &&
        out_c >= 8) {
        winograd_tolerance(c, group_in);
    }
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

    check_input(c, c->dtype, 4, x_dims);
    const int32_t dense_dims[4] = {out_c, kernel_h, kernel_w, group_in};
    const int32_t depthwise_dims[4] = {1, kernel_h, kernel_w, out_c};
    check_input(c, is_float ? c->dtype : NNACL_S8, 4, depthwise ? depthwise_dims : dense_dims);
    check_mark_constant(c);
    const bool biased = check_chance(c, 75);
    if (biased) {
        const bool is_wide = c->dtype == NNACL_S16 && check_chance(c, 60);
        check_vector(c, is_float ? NNACL_F32 : is_wide ? NNACL_S64 : NNACL_S32, out_c);
        check_mark_constant(c);
    } else if (!is_float || check_chance(c, 50)) {
        check_absent(c);
    }
    if (!is_float) {
        check_requant(c, out_c, p->rounding, kernel_h * kernel_w * group_in);
        check_mark_constant(c);
        if (!c->bench && check_chance(c, 15)) {
            check_zeros(c, out_c);
        }
    }
}

static void draw_integer(check_case *c) {
    nnacl_conv2d_params *p = (void *)&c->params;
    p->groups = c->bench || check_chance(c, 70) ? 1 : check_int(c, 2, 4);
    const int32_t depth = check_dim(c, 20, 32);
    const int32_t x_dims[4] = {c->bench ? 1 : check_int(c, 1, 2), check_dim(c, 12, 24), check_dim(c, 12, 24),
                               p->groups * depth};
    const int32_t out_c = p->groups * check_dim(c, 20, 32);
    const int32_t w_dims[4] = {out_c, check_dim(c, 5, 3), check_dim(c, 5, 3), depth};
    draw_window(c, x_dims[1], w_dims[1], &p->stride_h, &p->dilation_h, &p->pad_top, &p->pad_bottom);
    draw_window(c, x_dims[2], w_dims[2], &p->stride_w, &p->dilation_w, &p->pad_left, &p->pad_right);
    p->x_zero = check_zero(c);
    p->w_zero = check_zero(c);
    check_input(c, c->dtype, 4, x_dims);
    check_input(c, check_chance(c, 50) ? NNACL_S8 : NNACL_U8, 4, w_dims);
    check_mark_constant(c);
    if (check_chance(c, 50)) {
        check_zeros(c, 1);
    } else {
        check_absent(c);
    }
    if (check_chance(c, 50)) {
        check_zeros(c, check_chance(c, 50) ? 1 : out_c);
    }
}

static const check_op ops[] = {
    {"conv2d", draw}, {"conv2d_integer", draw_integer}, {"depthwise_conv2d", draw}, {NULL, NULL}};

const check_family check_conv = {"conv", ops};
