/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vectors_f32_vfp.h"

#include "common/assembly.h"

/* clang-format off */
/* Eight elements of a in s0-s7 and of b in s8-s15, or the scalar in s8; then the rest one by one. */
#define LOOP(name, begin, eight, operations, one, operation) LOOP_WITH(name, begin, eight, operations, one, operation, "")
#define LOOP_WITH(name, begin, eight, operations, one, operation, end)                                                 \
    NNACL_FUNCTION(name)                                                                                               \
    begin                                                                                                              \
    "lsrs   r12, r3, #3\n"                                                                                             \
    "beq    2f\n"                                                                                                      \
    "1:\n"                                                                                                             \
    "vldmia r0!, {s0-s7}\n"                                                                                            \
    eight                                                                                                              \
    operations                                                                                                         \
    "vstmia r2!, {s0-s7}\n"                                                                                            \
    "subs   r12, #1\n"                                                                                                 \
    "bne    1b\n"                                                                                                      \
    "2:\n"                                                                                                             \
    "ands   r3, #7\n"                                                                                                  \
    "beq    4f\n"                                                                                                      \
    "3:\n"                                                                                                             \
    "vldmia r0!, {s0}\n"                                                                                               \
    one                                                                                                                \
    operation                                                                                                          \
    "vstmia r2!, {s0}\n"                                                                                               \
    "subs   r3, #1\n"                                                                                                  \
    "bne    3b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    end                                                                                                                \
    "bx     lr\n"                                                                                                      \
    NNACL_FUNCTION_END(name)
#define EIGHT(op)                                                                                                      \
    op " s0, s0, s8\n" op " s1, s1, s9\n" op " s2, s2, s10\n" op " s3, s3, s11\n"                                      \
    op " s4, s4, s12\n" op " s5, s5, s13\n" op " s6, s6, s14\n" op " s7, s7, s15\n"
#define EIGHT_BY_ONE(op)                                                                                               \
    op " s0, s0, s8\n" op " s1, s1, s8\n" op " s2, s2, s8\n" op " s3, s3, s8\n"                                        \
    op " s4, s4, s8\n" op " s5, s5, s8\n" op " s6, s6, s8\n" op " s7, s7, s8\n"
#define ONE_BY_EIGHT(op)                                                                                               \
    op " s0, s8, s0\n" op " s1, s8, s1\n" op " s2, s8, s2\n" op " s3, s8, s3\n"                                        \
    op " s4, s8, s4\n" op " s5, s8, s5\n" op " s6, s8, s6\n" op " s7, s8, s7\n"
#define VECTORS(name, op)                                                                                              \
    LOOP(name, "", "vldmia r1!, {s8-s15}\n", EIGHT(op), "vldmia r1!, {s8}\n", op " s0, s0, s8\n")
#define SCALAR(name, op) LOOP(name, "vldr s8, [r1]\n", "", EIGHT_BY_ONE(op), "", op " s0, s0, s8\n")

__asm__(VECTORS("nnacl_add_vectors_vfp", "vadd.f32"));
__asm__(VECTORS("nnacl_sub_vectors_vfp", "vsub.f32"));
__asm__(VECTORS("nnacl_mul_vectors_vfp", "vmul.f32"));
__asm__(SCALAR("nnacl_add_scalar_vfp", "vadd.f32"));
__asm__(SCALAR("nnacl_sub_scalar_vfp", "vsub.f32"));
__asm__(SCALAR("nnacl_mul_scalar_vfp", "vmul.f32"));
__asm__(LOOP("nnacl_sub_from_scalar_vfp", "vldr s8, [r1]\n", "", ONE_BY_EIGHT("vsub.f32"), "",
             "vsub.f32 s0, s8, s0\n"));

#define SCALE "vmul.f32 s0, s0, s8\n" "vadd.f32 s0, s0, s9\n"
__asm__(LOOP_WITH("nnacl_add_scaled_vfp", "vldr s8, [r1]\n" "vpush {s16}\n",
             EIGHT_BY_ONE("vmul.f32") "vldm r2, {s9-s16}\n",
             "vadd.f32 s0, s0, s9\n" "vadd.f32 s1, s1, s10\n" "vadd.f32 s2, s2, s11\n" "vadd.f32 s3, s3, s12\n"
             "vadd.f32 s4, s4, s13\n" "vadd.f32 s5, s5, s14\n" "vadd.f32 s6, s6, s15\n" "vadd.f32 s7, s7, s16\n",
             "vldr s9, [r2]\n", SCALE, "vpop {s16}\n"));
/* clang-format on */
