/* SPDX-License-Identifier: Apache-2.0 */
/* Simple functions are loops of C here too, of which compilers make vectors. */
#include "elementwise/fused_loops.h"

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop) NNACL_DECLARE(nnacl_##op##_##dtype##_##neon);
#include "elementwise/fused_functions.def"
#undef NNACL_FUNCTION

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop)                                              \
    [number] = {nnacl_##op##_##dtype##_##neon, NNACL_FUSED_##kind, loop},
static const nnacl_fused_function functions[] = {
#include "elementwise/fused_functions.def"
};
#undef NNACL_FUNCTION

NNACL_DECLARE(nnacl_fused_elementwise_f32_neon);
void nnacl_fused_elementwise_f32_neon(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                      void *const out[]) {
    nnacl_fused_walk(functions, NNACL_FUSED_BLOCK_C, ctx, params, in, out);
}
