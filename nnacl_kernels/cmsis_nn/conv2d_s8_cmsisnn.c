/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_nnfunctions.h>

#include "cmsis_nn/cmsis_calls.h"
#include "conv/conv.h"

NNACL_DECLARE(nnacl_conv2d_s8_cmsisnn);
void nnacl_conv2d_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const cmsis_nn_context context = {ctx->workspace, (int32_t)ctx->workspace_size};
    const cmsis_nn_conv_params conv = {.input_offset = -p->x_zero,
                                       .output_offset = p->y_zero,
                                       .stride = {p->stride_w, p->stride_h},
                                       .padding = {p->pad_left, p->pad_top},
                                       .dilation = {p->dilation_w, p->dilation_h},
                                       .activation = {p->q_min, p->q_max}};
    const nnacl_cmsis_quant quant = nnacl_cmsis_quant_of(in[3], p->out_c);
    const cmsis_nn_per_channel_quant_params channels = {quant.multipliers, quant.shifts};
    const cmsis_nn_dims x = {p->batch, p->in_h, p->in_w, p->in_c};
    const cmsis_nn_dims weights = {p->out_c, p->kernel_h, p->kernel_w, p->in_c};
    const cmsis_nn_dims bias = {1, 1, 1, p->out_c};
    const cmsis_nn_dims y = {p->batch, p->out_h, p->out_w, p->out_c};
    (void)arm_convolve_wrapper_s8(&context, &conv, &channels, &x, in[0], &weights, in[1], &bias, in[2], &y, out[0]);
}
