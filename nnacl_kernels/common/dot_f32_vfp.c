/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_f32_vfp.h"

#include "common/assembly.h"

/* clang-format off */
#define LANE(lane, a, b)                                                                                               \
    "vmul.f32 " a ", " a ", " b "\n"                                                                                   \
    "vadd.f32 " lane ", " lane ", " a "\n"

/* s0-s7 the lanes, s8-s15 and s16-s23 elements. */
__asm__(NNACL_FUNCTION("nnacl_dot_f32_vfp")
    "push   {r4, lr}\n"
    "vpush  {s16-s23}\n"
    "movs   r3, #0\n"
    "vmov   s0, r3\n"
    "vmov.f32 s1, s0\n"
    "vmov.f32 s2, s0\n"
    "vmov.f32 s3, s0\n"
    "vmov.f32 s4, s0\n"
    "vmov.f32 s5, s0\n"
    "vmov.f32 s6, s0\n"
    "vmov.f32 s7, s0\n"
    "lsrs   r3, r2, #3\n"
    "beq    2f\n"
    "1:\n"
    "vldmia r0!, {s8-s15}\n"
    "vldmia r1!, {s16-s23}\n"
    LANE("s0", "s8", "s16") LANE("s1", "s9", "s17") LANE("s2", "s10", "s18") LANE("s3", "s11", "s19")
    LANE("s4", "s12", "s20") LANE("s5", "s13", "s21") LANE("s6", "s14", "s22") LANE("s7", "s15", "s23")
    "subs   r3, #1\n"
    "bne    1b\n"
    "2:\n"
    "ands   r2, #7\n"
    "beq    3f\n"
    ".irp   lane, s0, s1, s2, s3, s4, s5, s6\n"
    "vldmia r0!, {s8}\n"
    "vldmia r1!, {s16}\n"
    "vmul.f32 s8, s8, s16\n"
    "vadd.f32 \\lane, \\lane, s8\n"
    "subs   r2, #1\n"
    "beq    3f\n"
    ".endr\n"
    "3:\n"
    "vadd.f32 s0, s0, s4\n"
    "vadd.f32 s1, s1, s5\n"
    "vadd.f32 s2, s2, s6\n"
    "vadd.f32 s3, s3, s7\n"
    "vadd.f32 s0, s0, s2\n"
    "vadd.f32 s1, s1, s3\n"
    "vadd.f32 s0, s0, s1\n"
    "vpop   {s16-s23}\n"
    "pop    {r4, pc}\n"
    NNACL_FUNCTION_END("nnacl_dot_f32_vfp"));
/* clang-format on */
