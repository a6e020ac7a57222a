/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/fused_loops_avx2.h"

/* Simple functions are as fast in AVX2; those that have kernels for AVX-512 round as these do. */
#define LOOP_c(loop) loop
#define LOOP_avx2(loop) loop
#define LOOP_avx512(loop) NULL

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop)                                              \
    NNACL_DECLARE(nnacl_##op##_##dtype##_##avx512);
#include "elementwise/fused_functions.def"
#undef NNACL_FUNCTION

#define NNACL_FUNCTION(number, op, kind, dtype, avx2, avx512, neon, loop)                                              \
    [number] = {nnacl_##op##_##dtype##_##avx512, NNACL_FUSED_##kind, LOOP_##avx512(loop)},
static const nnacl_fused_function functions[] = {
#include "elementwise/fused_functions.def"
};
#undef NNACL_FUNCTION

NNACL_DECLARE(nnacl_fused_elementwise_f32_avx512);
void nnacl_fused_elementwise_f32_avx512(const nnacl_ctx *ctx, const void *params, const void *const in[],
                                        void *const out[]) {
    nnacl_fused_walk(functions, NNACL_FUSED_BLOCK_AVX2, ctx, params, in, out);
}
