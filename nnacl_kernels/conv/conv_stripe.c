/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/conv_stripe.h"

#include "conv/conv.h"

static int32_t window_height(const nnacl_conv2d_params *p) {
    return (p->kernel_h - 1) * p->dilation_h + 1;
}

/* Those that need as much workspace for few rows as for all of them. */
static bool keeps_workspace(const nnacl_kernel *kernel) {
    const uint32_t any = NNACL_ISA_C | NNACL_ISA_SSE41 | NNACL_ISA_AVX2 | NNACL_ISA_AVX512 | NNACL_ISA_VNNI;
    return (kernel->isa & any) != 0 || (kernel->isa == NNACL_ISA_NEON && kernel->dtype == NNACL_F32);
}

/* Each window has a row of the image in it, and a product of one row, whose order of sums is its own
 * (common/tile_f32.h), is the whole or does not come up. What Winograd's transforms round depends on where the tiles
 * are. */
static bool has_stripes(const nnacl_conv2d_params *p, const nnacl_kernel *kernel) {
    const int32_t height = window_height(p);
    return p->batch == 1 && p->out_w > 1 && p->pad_top < height && p->pad_bottom < height && keeps_workspace(kernel) &&
           !nnacl_kernel_is_winograd(kernel);
}

bool nnacl_conv_stripe(const void *params, const nnacl_kernel *kernel, int32_t begin, int32_t end, void *part,
                       int32_t rows[2]) {
    const nnacl_conv2d_params *p = params;
    if (!has_stripes(p, kernel)) {
        return false;
    }
    nnacl_conv2d_params *stripe = part;
    const int32_t first = begin * p->stride_h - p->pad_top;
    const int32_t last = (end - 1) * p->stride_h - p->pad_top + window_height(p);
    rows[0] = first > 0 ? first : 0;
    rows[1] = last < p->in_h ? last : p->in_h;
    *stripe = *p;
    stripe->pad_top = rows[0] - first;
    stripe->pad_bottom = last - rows[1];
    stripe->in_h = rows[1] - rows[0];
    stripe->out_h = end - begin;
    return true;
}
