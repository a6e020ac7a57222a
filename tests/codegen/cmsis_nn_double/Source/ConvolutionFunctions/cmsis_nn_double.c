/* SPDX-License-Identifier: Apache-2.0 */
/* CMSIS-NN's functions on our own kernels, which are included as they are in the library. Rounds as CMSIS-NN does:
 * twice, or once with CMSIS_NN_USE_SINGLE_ROUNDING. Fills every buffer that it gets, so that a layer whose buffer lies
 * on live tensors gives wrong results. */
#include "arm_nnfunctions.h"

#include <string.h>

#include "conv/conv2d_s16_c.c"
#include "conv/conv2d_s8_c.c"
#include "conv/depthwise_conv2d_s8_c.c"
#include "dense/dense_s8_c.c"
#include "elementwise/binary_s8_c.c"
#include "pool/avg_pool2d_s8_c.c"
#include "pool/max_pool2d_s8_c.c"

#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#define ROUNDING NNACL_ROUND_SINGLE
#else
#define ROUNDING NNACL_ROUND_TFLITE_DOUBLE
#endif
#define MOST_CHANNELS 1024

static const nnacl_ctx whole = {NULL, 0, 0, 1};

static void spoil(const cmsis_nn_context *ctx) {
    if (ctx->buf != NULL) {
        memset(ctx->buf, 0xA5, (size_t)ctx->size);
    }
}

/* Multipliers and shifts behind one another, as our kernels want them. */
static const int32_t *requant_of(const int32_t *multipliers, const int32_t *shifts, int32_t channels) {
    static int32_t requant[2 * MOST_CHANNELS];
    memcpy(requant, multipliers, (size_t)channels * sizeof(int32_t));
    memcpy(requant + channels, shifts, (size_t)channels * sizeof(int32_t));
    return requant;
}

static nnacl_conv2d_params shapes_of(const cmsis_nn_dims *x, const cmsis_nn_dims *weights, const cmsis_nn_dims *y,
                                     cmsis_nn_tile stride, cmsis_nn_tile padding, cmsis_nn_tile dilation,
                                     cmsis_nn_activation activation) {
    const nnacl_conv2d_params params = {.stride_h = stride.h,
                                        .stride_w = stride.w,
                                        .pad_top = padding.h,
                                        .pad_left = padding.w,
                                        .dilation_h = dilation.h,
                                        .dilation_w = dilation.w,
                                        .groups = 1,
                                        .q_min = activation.min,
                                        .q_max = activation.max,
                                        .rounding = ROUNDING,
                                        .batch = x->n,
                                        .in_h = x->h,
                                        .in_w = x->w,
                                        .in_c = x->c,
                                        .out_h = y->h,
                                        .out_w = y->w,
                                        .out_c = y->c,
                                        .kernel_h = weights->h,
                                        .kernel_w = weights->w,
                                        .has_bias = 1};
    return params;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                            const cmsis_nn_per_channel_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                            const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                            const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                            const cmsis_nn_dims *output_dims, int8_t *output_data) {
    nnacl_conv2d_params params = shapes_of(input_dims, filter_dims, output_dims, conv_params->stride,
                                           conv_params->padding, conv_params->dilation, conv_params->activation);
    const int32_t *requant = requant_of(quant_params->multiplier, quant_params->shift, output_dims->c);
    if (filter_dims->c != input_dims->c || filter_dims->n != output_dims->c || bias_dims->c != output_dims->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    params.x_zero = -conv_params->input_offset;
    params.y_zero = conv_params->output_offset;
    spoil(ctx);
    nnacl_conv2d_s8_c(&whole, &params, (const void *const[]){input_data, filter_data, bias_data, requant},
                      (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_convolve_wrapper_s16(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                             const cmsis_nn_per_channel_quant_params *quant_params,
                                             const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                             const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                             const cmsis_nn_dims *bias_dims, const cmsis_nn_bias_data *bias_data,
                                             const cmsis_nn_dims *output_dims, int16_t *output_data) {
    nnacl_conv2d_params params = shapes_of(input_dims, filter_dims, output_dims, conv_params->stride,
                                           conv_params->padding, conv_params->dilation, conv_params->activation);
    const int32_t *requant = requant_of(quant_params->multiplier, quant_params->shift, output_dims->c);
    (void)bias_dims;
    params.has_bias = bias_data->is_int32_bias ? 1 : 2;
    spoil(ctx);
    nnacl_conv2d_s16_c(&whole, &params, (const void *const[]){input_data, filter_data, bias_data->data, requant},
                       (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *ctx,
                                                  const cmsis_nn_dw_conv_params *dw_conv_params,
                                                  const cmsis_nn_per_channel_quant_params *quant_params,
                                                  const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                                  const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                  const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                                  const cmsis_nn_dims *output_dims, int8_t *output_data) {
    nnacl_conv2d_params params =
        shapes_of(input_dims, filter_dims, output_dims, dw_conv_params->stride, dw_conv_params->padding,
                  dw_conv_params->dilation, dw_conv_params->activation);
    const int32_t *requant = requant_of(quant_params->multiplier, quant_params->shift, output_dims->c);
    if (filter_dims->c != output_dims->c || dw_conv_params->ch_mult * input_dims->c != output_dims->c ||
        bias_dims->c != output_dims->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    params.groups = input_dims->c;
    params.x_zero = -dw_conv_params->input_offset;
    params.y_zero = dw_conv_params->output_offset;
    spoil(ctx);
    nnacl_depthwise_conv2d_s8_c(&whole, &params, (const void *const[]){input_data, filter_data, bias_data, requant},
                                (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

/* The bias: what the caller gives as such, or with MVE, where that is not read, what the sums in the buffer hold. */
static const int32_t *bias_of(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                              const cmsis_nn_dims *filter_dims, const int8_t *weights, const int32_t *bias) {
    static int32_t from_sums[MOST_CHANNELS];
#ifdef __ARM_FEATURE_MVE
    const int32_t *sums = ctx->buf;
    (void)bias;
    for (int32_t unit = 0; unit < filter_dims->c; unit++) {
        int32_t sum = 0;
        for (int32_t i = 0; i < filter_dims->n; i++) {
            sum += weights[unit * filter_dims->n + i];
        }
        from_sums[unit] = sums[unit] - sum * fc_params->input_offset;
    }
    return from_sums;
#else
    (void)ctx, (void)fc_params, (void)filter_dims, (void)weights, (void)from_sums;
    return bias;
#endif
}

arm_cmsis_nn_status arm_fully_connected_per_channel_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                                       const cmsis_nn_per_channel_quant_params *quant_params,
                                                       const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                                       const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                       const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                                       const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const nnacl_dense_params params = {.x_zero = -fc_params->input_offset,
                                       .w_zero = -fc_params->filter_offset,
                                       .y_zero = fc_params->output_offset,
                                       .q_min = fc_params->activation.min,
                                       .q_max = fc_params->activation.max,
                                       .rounding = ROUNDING,
                                       .rows = input_dims->n,
                                       .depth = filter_dims->n,
                                       .units = output_dims->c,
                                       .has_bias = 1};
    const int32_t *requant = requant_of(quant_params->multiplier, quant_params->shift, output_dims->c);
    const int32_t *bias = bias_of(ctx, fc_params, filter_dims, filter_data, bias_data);
    (void)bias_dims;
    nnacl_dense_s8_c(&whole, &params, (const void *const[]){input_data, filter_data, bias, requant},
                     (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                           const cmsis_nn_per_tensor_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                           const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                           const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                           const cmsis_nn_dims *output_dims, int8_t *output_data) {
    static int32_t multipliers[MOST_CHANNELS], shifts[MOST_CHANNELS];
    const cmsis_nn_per_channel_quant_params channels = {multipliers, shifts};
    for (int32_t unit = 0; unit < output_dims->c; unit++) {
        multipliers[unit] = quant_params->multiplier;
        shifts[unit] = quant_params->shift;
    }
    return arm_fully_connected_per_channel_s8(ctx, fc_params, &channels, input_dims, input_data, filter_dims,
                                              filter_data, bias_dims, bias_data, output_dims, output_data);
}

static nnacl_pool2d_params pool_of(const cmsis_nn_pool_params *pool, const cmsis_nn_dims *x,
                                   const cmsis_nn_dims *window, const cmsis_nn_dims *y) {
    const nnacl_pool2d_params params = {.kernel_h = window->h,
                                        .kernel_w = window->w,
                                        .stride_h = pool->stride.h,
                                        .stride_w = pool->stride.w,
                                        .pad_top = pool->padding.h,
                                        .pad_left = pool->padding.w,
                                        .dilation_h = 1,
                                        .dilation_w = 1,
                                        .q_min = pool->activation.min,
                                        .q_max = pool->activation.max,
                                        .rounding = ROUNDING,
                                        .batch = x->n,
                                        .in_h = x->h,
                                        .in_w = x->w,
                                        .channels = x->c,
                                        .out_h = y->h,
                                        .out_w = y->w};
    return params;
}

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                   const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                   const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                   int8_t *output_data) {
    const nnacl_pool2d_params params = pool_of(pool_params, input_dims, filter_dims, output_dims);
    static int32_t sums[MOST_CHANNELS];
    const nnacl_ctx mine = {sums, sizeof sums, 0, 1};
    spoil(ctx);
    nnacl_avg_pool2d_s8_c(&mine, &params, (const void *const[]){input_data}, (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                    int8_t *output_data) {
    const nnacl_pool2d_params params = pool_of(pool_params, input_dims, filter_dims, output_dims);
    spoil(ctx);
    nnacl_max_pool2d_s8_c(&whole, &params, (const void *const[]){input_data}, (void *const[]){output_data});
    return ARM_CMSIS_NN_SUCCESS;
}

static nnacl_binary_params vectors_of(int32_t block_size, int32_t a_offset, int32_t b_offset, int32_t out_offset,
                                      int32_t out_mult, int32_t out_shift, int32_t least, int32_t most) {
    const nnacl_binary_params params = {.a_zero = -a_offset,
                                        .b_zero = -b_offset,
                                        .y_zero = out_offset,
                                        .y_mult = out_mult,
                                        .y_shift = out_shift,
                                        .q_min = least,
                                        .q_max = most,
                                        .rounding = ROUNDING,
                                        .rank = 1,
                                        .dims = {block_size},
                                        .a_strides = {1},
                                        .b_strides = {1}};
    return params;
}

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *input_1_vect, const int8_t *input_2_vect,
                                           int32_t input_1_offset, int32_t input_1_mult, int32_t input_1_shift,
                                           int32_t input_2_offset, int32_t input_2_mult, int32_t input_2_shift,
                                           int32_t left_shift, int8_t *output, int32_t out_offset, int32_t out_mult,
                                           int32_t out_shift, int32_t out_activation_min, int32_t out_activation_max,
                                           int32_t block_size) {
    nnacl_binary_params params = vectors_of(block_size, input_1_offset, input_2_offset, out_offset, out_mult, out_shift,
                                            out_activation_min, out_activation_max);
    params.left_shift = left_shift;
    params.a_mult = input_1_mult;
    params.a_shift = input_1_shift;
    params.b_mult = input_2_mult;
    params.b_shift = input_2_shift;
    nnacl_add_s8_c(&whole, &params, (const void *const[]){input_1_vect, input_2_vect}, (void *const[]){output});
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *input_1_vect, const int8_t *input_2_vect,
                                           int32_t input_1_offset, int32_t input_2_offset, int8_t *output,
                                           int32_t out_offset, int32_t out_mult, int32_t out_shift,
                                           int32_t out_activation_min, int32_t out_activation_max, int32_t block_size) {
    const nnacl_binary_params params = vectors_of(block_size, input_1_offset, input_2_offset, out_offset, out_mult,
                                                  out_shift, out_activation_min, out_activation_max);
    nnacl_mul_s8_c(&whole, &params, (const void *const[]){input_1_vect, input_2_vect}, (void *const[]){output});
    return ARM_CMSIS_NN_SUCCESS;
}
