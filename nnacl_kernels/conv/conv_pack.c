/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/conv_pack.h"

#include "common/gemm_pack.h"
#include "conv/conv_runs.h"
#include "nnacl_kernels.h"

bool nnacl_conv2d_accepts_dsp(const void *params) {
    const nnacl_conv2d_params *p = params;
    return p->groups == 1 && p->w_zero == 0 && p->has_w_zeros == 0 && p->out_c >= 2;
}

/* A panel of four positions, and for each a run whose ends are in the padding. */
size_t nnacl_conv2d_dsp_workspace(const nnacl_conv2d_params *p) {
    const nnacl_runs runs = nnacl_conv2d_runs(p);
    return (size_t)nnacl_runs_units(runs) * 16 + ((size_t)runs.length + 3) / 4 * 16;
}

size_t nnacl_conv2d_dsp_packed_size(const nnacl_conv2d_params *p, int32_t index) {
    return index == 1 ? nnacl_gemm_packed_size(p->out_c, nnacl_conv2d_runs(p)) : NNACL_PACKED_ELSEWHERE;
}

void nnacl_conv2d_dsp_pack(const nnacl_conv2d_params *p, const void *const in[], void *packed) {
    const int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    const nnacl_line_layer layer = {.weights = in[1],
                                    .channel_step = depth,
                                    .element_step = 1,
                                    .depth = depth,
                                    .channels = p->out_c,
                                    .bias = p->has_bias ? in[2] : NULL,
                                    .requant = in[3],
                                    .rounding = p->rounding,
                                    .x_zero = p->x_zero,
                                    .y_zero = p->y_zero,
                                    .q_min = p->q_min,
                                    .q_max = p->q_max};
    nnacl_gemm_pack(&layer, nnacl_conv2d_runs(p), packed);
}
