/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_nnfunctions.h>

#include "cmsis_nn/cmsis_calls.h"
#include "dense/dense.h"

/* For MVE the generator has put the sums of the weights, by which CMSIS-NN corrects for the zero point of x, onto the
 * bias, where CMSIS-NN looks for them; other cores read the bias alone. */
static cmsis_nn_context sums_of(const nnacl_dense_params *p, const void *bias) {
    const cmsis_nn_context context = {nnacl_cmsis_unlocked(bias), p->units * (int32_t)sizeof(int32_t)};
    return context;
}

static cmsis_nn_fc_params layer_of(const nnacl_dense_params *p) {
    const cmsis_nn_fc_params layer = {
        .input_offset = -p->x_zero, .filter_offset = 0, .output_offset = p->y_zero, .activation = {p->q_min, p->q_max}};
    return layer;
}

/* All units have one multiplier and shift. */
NNACL_DECLARE(nnacl_dense_s8_cmsisnn);
void nnacl_dense_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const cmsis_nn_context context = sums_of(p, in[2]);
    const cmsis_nn_fc_params layer = layer_of(p);
    const int32_t *requant = in[3];
    const cmsis_nn_per_tensor_quant_params quant = {requant[0], requant[p->units]};
    const cmsis_nn_dims x = {p->rows, 1, 1, p->depth}, weights = {p->depth, 1, 1, p->units};
    const cmsis_nn_dims bias = {1, 1, 1, p->units}, y = {p->rows, 1, 1, p->units};
    (void)ctx;
    (void)arm_fully_connected_s8(&context, &layer, &quant, &x, in[0], &weights, in[1], &bias, in[2], &y, out[0]);
}

NNACL_DECLARE(nnacl_dense_channels_s8_cmsisnn);
void nnacl_dense_channels_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                     void *const out[]) {
    const nnacl_dense_params *p = params;
    const cmsis_nn_context context = sums_of(p, in[2]);
    const cmsis_nn_fc_params layer = layer_of(p);
    const nnacl_cmsis_quant quant = nnacl_cmsis_quant_of(in[3], p->units);
    const cmsis_nn_per_channel_quant_params channels = {quant.multipliers, quant.shifts};
    const cmsis_nn_dims x = {p->rows, 1, 1, p->depth}, weights = {p->depth, 1, 1, p->units};
    const cmsis_nn_dims bias = {1, 1, 1, p->units}, y = {p->rows, 1, 1, p->units};
    (void)ctx;
    (void)arm_fully_connected_per_channel_s8(&context, &layer, &channels, &x, in[0], &weights, in[1], &bias, in[2], &y,
                                             out[0]);
}
