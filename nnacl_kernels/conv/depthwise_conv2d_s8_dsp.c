/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/depthwise_lines_dsp.h"

NNACL_DECLARE(nnacl_depthwise_conv2d_s8_dsp);

void nnacl_depthwise_conv2d_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                   void *const out[]) {
    nnacl_depthwise_wide_lines_dsp(ctx, params, in[0], in[1], out[0]);
}
