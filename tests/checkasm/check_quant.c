#include "checkasm.h"
#include "common/bfloat.h"
#include "quant/quant.h"

static int32_t least_of(int32_t dtype) {
    return dtype == NNACL_S8 ? INT8_MIN : dtype == NNACL_S16 ? INT16_MIN : dtype == NNACL_S32 ? -100000 : 0;
}

static int32_t most_of(int32_t dtype) {
    return dtype == NNACL_S8    ? INT8_MAX
           : dtype == NNACL_U8  ? UINT8_MAX
           : dtype == NNACL_S16 ? INT16_MAX
           : dtype == NNACL_S32 ? 100000
                                : UINT16_MAX;
}

static int32_t narrow_type(check_case *c) {
    static const int32_t types[] = {NNACL_S8, NNACL_U8, NNACL_S16};
    return types[check_int(c, 0, 2)];
}

static int32_t zero_of(check_case *c, int32_t dtype) {
    return check_int(c, least_of(dtype), most_of(dtype));
}

/* Axis and block, and inputs of scales and zero points that lie along x, the input before them, as these say. */
static void draw_layout(check_case *c, int32_t dtype, int32_t *axis, int32_t *block) {
    const nnacl_tensor *x = &c->in[0];
    int32_t dims[NNACL_MAX_RANK] = {1}, rank = 1, count = 1;
    *axis = -1;
    *block = 0;
    if (c->bench || check_chance(c, 40)) {
        return;
    }
    if (check_chance(c, 70)) {
        *axis = check_int(c, 0, x->rank - 1);
        dims[0] = x->dims[*axis];
        *block = check_chance(c, 40) ? check_int(c, 1, 4) : 0;
    }
    if (*block > 0) {
        rank = x->rank;
        for (int32_t i = 0; i < rank; i++) {
            dims[i] = i == *axis ? (x->dims[i] + *block - 1) / *block : x->dims[i];
        }
    }
    for (int32_t i = 0; i < rank; i++) {
        count *= dims[i];
    }
    float *scales = check_input(c, NNACL_F32, rank, dims);
    for (int32_t i = 0; i < count; i++) {
        scales[i] = check_float(c, 0.001f, 0.1f);
    }
    if (check_chance(c, 50)) {
        int32_t *zeros = check_input(c, NNACL_S32, rank, dims);
        for (int32_t i = 0; i < count; i++) {
            zeros[i] = dtype == NNACL_S32 ? 0 : zero_of(c, dtype);
        }
    }
}

static void draw_quantize(check_case *c) {
    static const int32_t types[] = {NNACL_S8, NNACL_U8, NNACL_S16, NNACL_U16};
    nnacl_quantize_params *p = (void *)&c->params;
    const bool usual = check_chance(c, 30); /* one scale, int8: has kernels of its own */
    p->to = usual ? NNACL_S8 : types[check_int(c, 0, 3)];
    p->scale = check_chance(c, 50) ? check_float(c, 0.001f, 0.1f) : 0.03125f;
    p->zero = zero_of(c, p->to);
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_UP_BY_8);
    int32_t dims[4], count = 1;
    const int32_t rank = check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 20000 : check_chance(c, 5) ? 50000 : 1000, dims);
    for (int32_t i = 0; i < rank; i++) {
        count *= dims[i];
    }
    float *x = check_input(c, NNACL_F32, rank, dims);
    if (check_chance(c, 30)) {
        check_strew(c, 0);
    } else if (check_chance(c, 50)) {
        /* Ties, where the contracts differ. */
        for (int32_t i = 0; i < count; i += 2) {
            x[i] = p->scale * ((float)check_int(c, -300, 300) + 0.5f);
        }
    }
    p->axis = -1;
    if (!usual) {
        draw_layout(c, p->to, &p->axis, &p->block);
    }
}

static void draw_dequantize(check_case *c) {
    nnacl_dequantize_params *p = (void *)&c->params;
    int32_t dims[4];
    const int32_t rank = check_int(c, 1, 4);
    check_shape(c, rank, c->bench ? 20000 : check_chance(c, 5) ? 50000 : 1000, dims);
    check_input(c, c->dtype, rank, dims);
    p->scale = check_float(c, 0.001f, 0.1f);
    p->zero = c->dtype == NNACL_S32 ? 0 : zero_of(c, c->dtype);
    draw_layout(c, c->dtype, &p->axis, &p->block);
}

static void draw_requantize(check_case *c) {
    nnacl_requantize_params *p = (void *)&c->params;
    check_vector(c, c->dtype, check_dim(c, check_chance(c, 50) ? 50000 : 300, 20000));
    p->to = check_chance(c, 20) ? NNACL_S32 : narrow_type(c);
    p->x_zero = c->dtype == NNACL_S32 ? 0 : zero_of(c, c->dtype);
    p->y_zero = zero_of(c, p->to);
    p->rounding = check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_UP_BY_8);
    if (p->to == NNACL_S32 && p->rounding == NNACL_ROUND_FLOAT_EVEN) {
        p->rounding = NNACL_ROUND_TFLITE_UP;
    }
    check_multiplier(c, check_int(c, -4, 2), &p->mult, &p->shift);
    p->scale = check_float(c, 0.05f, 4.0f);
    p->q_min = check_chance(c, 60) ? least_of(p->to) : check_int(c, least_of(p->to), 10);
    p->q_max = check_chance(c, 60) ? most_of(p->to) : check_int(c, 11, most_of(p->to));
}

static void draw_quantize_dynamic(check_case *c) {
    c->n_out = 3;
    check_vector(c, NNACL_F32, check_dim(c, check_chance(c, 5) ? 50000 : 300, 20000));
    if (check_chance(c, 20)) {
        check_strew(c, 0);
    }
}

/* Bias (or none) and the scales of the weights. */
static void draw_scales(check_case *c, int32_t channels) {
    if (check_chance(c, 75)) {
        check_vector(c, NNACL_F32, channels);
        check_mark_constant(c);
    } else {
        check_absent(c);
    }
    float *scales = check_vector(c, NNACL_F32, channels);
    check_mark_constant(c);
    for (int32_t i = 0; i < channels; i++) {
        scales[i] = check_float(c, 0.001f, 0.02f);
    }
}

static void draw_conv(check_case *c) {
    nnacl_conv2d_dynamic_params *p = (void *)&c->params;
    const int32_t groups = c->bench || check_chance(c, 70) ? 1 : check_int(c, 2, 4);
    const int32_t depth = check_dim(c, 16, 32);
    const int32_t out_c = groups * check_dim(c, 16, 32);
    const int32_t x_dims[4] = {c->bench ? 1 : check_int(c, 1, 3), check_dim(c, 10, 24), check_dim(c, 10, 24),
                               groups * depth};
    const int32_t w_dims[4] = {out_c, check_dim(c, 4, 3), check_dim(c, 4, 3), depth};
    p->stride_h = check_int(c, 1, 2);
    p->stride_w = check_int(c, 1, 2);
    p->dilation_h = check_int(c, 1, 2);
    p->dilation_w = check_int(c, 1, 2);
    /* So wide that every kernel fits. */
    p->pad_top = p->pad_bottom = (w_dims[1] - 1) * p->dilation_h;
    p->pad_left = p->pad_right = (w_dims[2] - 1) * p->dilation_w;
    p->groups = groups;
    p->asymmetric = check_int(c, 0, 1);
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_input(c, NNACL_F32, 4, x_dims);
    check_input(c, NNACL_S8, 4, w_dims);
    check_mark_constant(c);
    draw_scales(c, out_c);
}

static void draw_dense(check_case *c) {
    nnacl_dense_dynamic_params *p = (void *)&c->params;
    const int32_t x_dims[2] = {check_dim(c, 5, 16), check_dim(c, 100, 256)};
    const int32_t w_dims[2] = {check_dim(c, 40, 128), x_dims[1]};
    p->asymmetric = check_int(c, 0, 1);
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_input(c, NNACL_F32, 2, x_dims);
    check_input(c, NNACL_S8, 2, w_dims);
    check_mark_constant(c);
    draw_scales(c, w_dims[0]);
}

/* How weights are stored, and what follows behind those of `depth` numbers for each channel: bias (or none) and scales
 * or requant. */
typedef struct drawn_storage {
    int32_t bits, group, offset, step, bfloat;
    int32_t x_zero, y_zero, q_min, q_max, rounding;
} drawn_storage;

static drawn_storage draw_compressed(check_case *c, int32_t channels, int32_t depth) {
    static const int32_t widths[] = {1, 2, 4, 8, 16}, groups[] = {0, 1, 3, 32};
    const bool is_float = c->dtype == NNACL_F32;
    drawn_storage s = {.bits = widths[check_int(c, 0, is_float ? 4 : 2)]};
    s.group = is_float ? groups[check_int(c, 0, 3)] : 0;
    if (s.bits < 4 || (s.bits == 4 && check_chance(c, 50))) {
        s.offset = check_chance(c, 50) ? check_int(c, -8, 0) : check_int(c, -128, 127);
        s.step = check_chance(c, 50) ? 1 : check_int(c, 1, 255);
    }
    s.bfloat = s.bits == 16 && !c->bench ? check_int(c, NNACL_BFLOAT_NONE, NNACL_BFLOAT_PRODUCTS) : 0;
    const int32_t w_dims[2] = {channels, s.bits < 8 ? (depth * s.bits + 7) / 8 : depth};
    uint16_t *halves = check_input(c,
                                   s.bits < 8    ? NNACL_U8
                                   : s.bits == 8 ? NNACL_S8
                                   : s.bfloat    ? NNACL_U16
                                                 : NNACL_F16,
                                   2, w_dims);
    check_mark_constant(c);
    for (int32_t i = 0; s.bfloat && i < w_dims[0] * w_dims[1]; i++) { /* one in 64 is subnormal */
        const uint16_t bits = nnacl_float_to_bfloat(check_float(c, -2.0f, 2.0f));
        halves[i] = check_chance(c, 2) ? bits & 0x807fu : bits;
    }
    if (check_chance(c, 75)) {
        check_vector(c, is_float ? NNACL_F32 : NNACL_S32, channels);
        check_mark_constant(c);
    } else {
        check_absent(c);
    }
    if (!is_float) {
        check_quantized_range(c, &s.q_min, &s.q_max);
        s.x_zero = check_zero(c);
        s.y_zero = check_zero(c);
        s.rounding = c->bench ? 0 : check_int(c, NNACL_ROUND_TFLITE_DOUBLE, NNACL_ROUND_TFLITE_UP_BY_8);
        check_requant(c, channels, s.rounding, depth);
        check_mark_constant(c);
    } else if (s.bits < 16) {
        const int32_t s_dims[2] = {channels, s.group > 0 ? (depth - 1) / s.group + 1 : 1};
        float *scales = check_input(c, NNACL_F32, 2, s_dims);
        check_mark_constant(c);
        for (int32_t i = 0; i < s_dims[0] * s_dims[1]; i++) {
            scales[i] = check_float(c, 0.001f, 0.02f);
        }
    }
    return s;
}

/* Sets the attributes of either op. */
#define SET_STORAGE(p, s)                                                                                              \
    do {                                                                                                               \
        (p)->bits = (s).bits;                                                                                          \
        (p)->bfloat = (s).bfloat;                                                                                      \
        (p)->group = (s).group;                                                                                        \
        (p)->offset = (s).offset;                                                                                      \
        (p)->step = (s).step;                                                                                          \
        (p)->x_zero = (s).x_zero;                                                                                      \
        (p)->y_zero = (s).y_zero;                                                                                      \
        (p)->q_min = (s).q_min;                                                                                        \
        (p)->q_max = (s).q_max;                                                                                        \
        (p)->rounding = (s).rounding;                                                                                  \
    } while (0)

static void draw_conv_compressed(check_case *c) {
    nnacl_conv2d_compressed_params *p = (void *)&c->params;
    const bool depthwise = !c->bench && check_chance(c, 30);
    const int32_t groups = depthwise ? check_int(c, 2, 24) : c->bench || check_chance(c, 70) ? 1 : check_int(c, 2, 4);
    const int32_t depth = depthwise ? 1 : check_dim(c, 16, 32);
    const int32_t out_c = depthwise ? groups : groups * check_dim(c, 16, 32);
    const int32_t x_dims[4] = {c->bench ? 1 : check_int(c, 1, 3), check_dim(c, 10, 24), check_dim(c, 10, 24),
                               groups * depth};
    const bool square = depthwise && check_chance(c, 60); /* which kernels know */
    p->kernel_h = square ? 3 : check_dim(c, 4, 3);
    p->kernel_w = square ? 3 : check_dim(c, 4, 3);
    p->stride_h = check_int(c, 1, 2);
    p->stride_w = check_int(c, 1, 2);
    p->dilation_h = square ? 1 : check_int(c, 1, 2);
    p->dilation_w = square ? 1 : check_int(c, 1, 2);
    p->pad_top = p->pad_bottom = (p->kernel_h - 1) * p->dilation_h;
    p->pad_left = p->pad_right = (p->kernel_w - 1) * p->dilation_w;
    p->groups = groups;
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_input(c, c->dtype, 4, x_dims);
    const drawn_storage storage = draw_compressed(c, out_c, p->kernel_h * p->kernel_w * depth);
    SET_STORAGE(p, storage);
}

static void draw_dense_compressed(check_case *c) {
    nnacl_dense_compressed_params *p = (void *)&c->params;
    const int32_t x_dims[2] = {check_dim(c, 5, 16), check_dim(c, 100, 256)};
    check_clamp(c, &p->clamp_min, &p->clamp_max);
    check_input(c, c->dtype, 2, x_dims);
    const drawn_storage storage = draw_compressed(c, check_dim(c, 40, 128), x_dims[1]);
    SET_STORAGE(p, storage);
}

static const check_op ops[] = {
    {"quantize", draw_quantize},
    {"dequantize", draw_dequantize},
    {"requantize", draw_requantize},
    {"quantize_dynamic", draw_quantize_dynamic},
    {"conv2d_dynamic", draw_conv},
    {"dense_dynamic", draw_dense},
    {"conv2d_compressed", draw_conv_compressed},
    {"dense_compressed", draw_dense_compressed},
    {NULL, NULL},
};

const check_family check_quant = {"quant", ops};
