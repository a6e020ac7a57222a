/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "common/vectors_f32_mve.h"
#include "elementwise/binary_loops.h"

/* Not the product: MVE takes denormal numbers for zero, and infinity times one of them would not be a number. */
#define BINARY(op, of_scalar)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f32_mve);                                                                               \
    void nnacl_##op##_f32_mve(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const nnacl_row_loops loops = {nnacl_##op##_vectors_mve, nnacl_##op##_scalar_mve, of_scalar};                  \
        const nnacl_binary_params *p = params;                                                                         \
        const bool is_clamped = p->clamp_min > -INFINITY || p->clamp_max < INFINITY;                                   \
        nnacl_binary_loops(ctx, p, in, out, &loops, is_clamped ? nnacl_clamp_vectors_mve : NULL);                      \
    }

BINARY(add, nnacl_add_scalar_mve)
BINARY(sub, nnacl_sub_from_scalar_mve)
