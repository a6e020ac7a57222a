/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vectors_f32_mve.h"

#include "common/assembly.h"

/* clang-format off */
#define VECTORS(name, operation)                                                                                       \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4, lr}\n"                                                                                                \
    "wlstp.32 lr, r3, 2f\n"                                                                                            \
    "1:\n"                                                                                                             \
    "vldrw.u32 q0, [r0], #16\n"                                                                                        \
    "vldrw.u32 q1, [r1], #16\n"                                                                                        \
    operation                                                                                                          \
    "vstrw.32 q0, [r2], #16\n"                                                                                         \
    "letp   lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "pop    {r4, pc}\n"                                                                                                \
    NNACL_FUNCTION_END(name)
/* r4 the scalar, in q1 as well. */
#define SCALAR(name, operation)                                                                                        \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4, lr}\n"                                                                                                \
    "ldr    r4, [r1]\n"                                                                                                \
    "vdup.32 q1, r4\n"                                                                                                 \
    "wlstp.32 lr, r3, 2f\n"                                                                                            \
    "1:\n"                                                                                                             \
    "vldrw.u32 q0, [r0], #16\n"                                                                                        \
    operation                                                                                                          \
    "vstrw.32 q0, [r2], #16\n"                                                                                         \
    "letp   lr, 1b\n"                                                                                                  \
    "2:\n"                                                                                                             \
    "pop    {r4, pc}\n"                                                                                                \
    NNACL_FUNCTION_END(name)

__asm__(VECTORS("nnacl_add_vectors_mve", "vadd.f32 q0, q0, q1\n"));
__asm__(VECTORS("nnacl_sub_vectors_mve", "vsub.f32 q0, q0, q1\n"));
__asm__(SCALAR("nnacl_add_scalar_mve", "vadd.f32 q0, q0, q1\n"));
__asm__(SCALAR("nnacl_sub_scalar_mve", "vsub.f32 q0, q0, q1\n"));
__asm__(SCALAR("nnacl_sub_from_scalar_mve", "vsub.f32 q0, q1, q0\n"));

__asm__(SCALAR("nnacl_add_scaled_mve", "vldrw.u32 q1, [r2]\n" "vfma.f32 q1, q0, r4\n" "vmov q0, q1\n"));

/* "Greater" is false for what is not a number, but "less" is true. */
__asm__(NNACL_FUNCTION("nnacl_clamp_vectors_mve")
    "push   {r4, lr}\n"
    "ldrd   r1, r4, [r1]\n"
    "vdup.32 q1, r1\n"
    "wlstp.32 lr, r3, 2f\n"
    "1:\n"
    "vldrw.u32 q0, [r0], #16\n"
    "vpt.f32 gt, q1, q0\n"
    "vdupt.32 q0, r1\n"
    "vpt.f32 gt, q0, r4\n"
    "vdupt.32 q0, r4\n"
    "vstrw.32 q0, [r2], #16\n"
    "letp   lr, 1b\n"
    "2:\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_clamp_vectors_mve"));
/* clang-format on */
