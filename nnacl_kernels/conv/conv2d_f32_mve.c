/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/multiply_f32_mve.h"

typedef float element;
typedef nnacl_multiply_mve product;
#define multiply1 nnacl_multiply1_f32_mve
#define multiply4 nnacl_multiply4_f32_mve
#define POSITIONS NNACL_POSITIONS_MVE
#define PANEL NNACL_PANEL_VFP
#define STEP(elements) ((elements)*4) /* bytes */

#include "conv/conv2d_products_mve.h"

NNACL_DECLARE(nnacl_conv2d_f32_mve);

void nnacl_conv2d_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_conv2d_params *p = params;
    const product m = {.is_clamped = p->clamp_min > -INFINITY || p->clamp_max < INFINITY};
    convolve(ctx, p, m, in, out);
}
