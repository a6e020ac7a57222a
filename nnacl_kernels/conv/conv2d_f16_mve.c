/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_f16_mve.h"

typedef uint16_t element;
typedef nnacl_multiply_f16 product;
#define multiply1 nnacl_multiply1_f16_mve
#define multiply4 nnacl_multiply4_f16_mve
#define POSITIONS NNACL_POSITIONS_F16
#define PANEL NNACL_PANEL_F16_MVE
#define STEP(elements) (elements)

#include "conv/conv2d_products_mve.h"

NNACL_DECLARE(nnacl_conv2d_f16_mve);

void nnacl_conv2d_f16_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const product m = {0};
    convolve(ctx, params, m, in, out);
}
