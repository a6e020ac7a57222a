/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vectors_f32_vfp.h"
#include "elementwise/binary_loops.h"

#define BINARY(op, of_scalar)                                                                                          \
    NNACL_DECLARE(nnacl_##op##_f32_vfp);                                                                               \
    void nnacl_##op##_f32_vfp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {   \
        const nnacl_row_loops loops = {nnacl_##op##_vectors_vfp, nnacl_##op##_scalar_vfp, of_scalar};                  \
        nnacl_binary_loops(ctx, params, in, out, &loops, NULL);                                                        \
    }

BINARY(add, nnacl_add_scalar_vfp)
BINARY(sub, nnacl_sub_from_scalar_vfp)
BINARY(mul, nnacl_mul_scalar_vfp)
