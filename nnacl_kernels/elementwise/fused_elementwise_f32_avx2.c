/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/fused_loops_avx2.h"

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop) NNACL_DECLARE(nnacl_##op##_##dtype##_##avx2);
#include "elementwise/fused_functions.def"
#undef NNACL_FUNCTION

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop)                                              \
    [number] = {nnacl_##op##_##dtype##_##avx2, NNACL_FUSED_##kind, loop},
static const nnacl_fused_function functions[] = {
#include "elementwise/fused_functions.def"
};
#undef NNACL_FUNCTION

NNACL_DECLARE(nnacl_fused_elementwise_f32_avx2);
void nnacl_fused_elementwise_f32_avx2(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                      void *const out[]) {
    nnacl_fused_walk(functions, NNACL_FUSED_BLOCK_AVX2, ctx, params, in, out);
}
