/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_nnfunctions.h>

#include "pool/pool.h"

NNACL_DECLARE(nnacl_max_pool2d_s8_cmsisnn);
void nnacl_max_pool2d_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_pool2d_params *p = params;
    const cmsis_nn_context context = {ctx->workspace, (int32_t)ctx->workspace_size};
    const cmsis_nn_pool_params pool = {
        .stride = {p->stride_w, p->stride_h}, .padding = {p->pad_left, p->pad_top}, .activation = {p->q_min, p->q_max}};
    const cmsis_nn_dims x = {p->batch, p->in_h, p->in_w, p->channels};
    const cmsis_nn_dims window = {1, p->kernel_h, p->kernel_w, 1};
    const cmsis_nn_dims y = {p->batch, p->out_h, p->out_w, p->channels};
    (void)arm_max_pool_s8(&context, &pool, &x, in[0], &window, &y, out[0]);
}
