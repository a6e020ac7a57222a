/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_f32_vfp.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_multiply_vfp) == 32 && sizeof(nnacl_taps_vfp) == 36,
               "the code below loads the fields in this order");

/* clang-format off */
/* Products of an element with four weights, and their sums. */
#define PRODUCTS(p0, p1, p2, p3, x, w0, w1, w2, w3)                                                                    \
    "vmul.f32 " p0 ", " x ", " w0 "\n"                                                                                 \
    "vmul.f32 " p1 ", " x ", " w1 "\n"                                                                                 \
    "vmul.f32 " p2 ", " x ", " w2 "\n"                                                                                 \
    "vmul.f32 " p3 ", " x ", " w3 "\n"
#define ADD(s0, s1, s2, s3, p0, p1, p2, p3)                                                                            \
    "vadd.f32 " s0 ", " s0 ", " p0 "\n"                                                                                \
    "vadd.f32 " s1 ", " s1 ", " p1 "\n"                                                                                \
    "vadd.f32 " s2 ", " s2 ", " p2 "\n"                                                                                \
    "vadd.f32 " s3 ", " s3 ", " p3 "\n"

/* s0-s3 and s4-s7 the sums of a and b, s20-s27 products. */
#define STEP2(a, b, w0, w1, w2, w3)                                                                                    \
    PRODUCTS("s20", "s21", "s22", "s23", a, w0, w1, w2, w3)                                                            \
    PRODUCTS("s24", "s25", "s26", "s27", b, w0, w1, w2, w3)                                                            \
    ADD("s0", "s1", "s2", "s3", "s20", "s21", "s22", "s23")                                                            \
    ADD("s4", "s5", "s6", "s7", "s24", "s25", "s26", "s27")
#define TWO_STEPS2                                                                                                     \
    "vldmia r3!, {s8-s15}\n"                                                                                           \
    "vldmia r1!, {s16-s17}\n"                                                                                          \
    "vldmia r2!, {s18-s19}\n"                                                                                          \
    STEP2("s16", "s18", "s8", "s9", "s10", "s11")                                                                      \
    STEP2("s17", "s19", "s12", "s13", "s14", "s15")

#define ENTER                                                                                                          \
    "push   {r4-r8, lr}\n"                                                                                             \
    "vpush  {s16-s31}\n"                                                                                               \
    "ldm    r0, {r1-r8}\n" /* a, b, weights, length, runs, row_step, weights_step, sums */
#define LEAVE                                                                                                          \
    "vpop   {s16-s31}\n"                                                                                               \
    "pop    {r4-r8, pc}\n"

__asm__(NNACL_FUNCTION("nnacl_multiply4x2_f32_vfp")
    ENTER
    "vldm   r8, {s0-s7}\n"
    "1:\n" /* a run */
    "lsrs   r12, r4, #2\n"
    "beq    3f\n"
    "2:\n"
    TWO_STEPS2
    TWO_STEPS2
    "subs   r12, #1\n"
    "bne    2b\n"
    "3:\n"
    "ands   r12, r4, #3\n"
    "beq    5f\n"
    "4:\n"
    "vldmia r3!, {s8-s11}\n"
    "vldmia r1!, {s16}\n"
    "vldmia r2!, {s18}\n"
    STEP2("s16", "s18", "s8", "s9", "s10", "s11")
    "subs   r12, #1\n"
    "bne    4b\n"
    "5:\n"
    "add    r1, r6\n"
    "add    r2, r6\n"
    "add    r3, r7\n"
    "subs   r5, #1\n"
    "bne    1b\n"
    "vstm   r8, {s0-s7}\n"
    LEAVE
    NNACL_FUNCTION_END("nnacl_multiply4x2_f32_vfp"));

/* s0-s3 the sums, s4-s7 and s28-s31 products. */
__asm__(NNACL_FUNCTION("nnacl_multiply4x1_f32_vfp")
    ENTER
    "vldm   r8, {s0-s3}\n"
    "1:\n" /* a run */
    "lsrs   r12, r4, #2\n"
    "beq    3f\n"
    "2:\n"
    "vldmia r3!, {s8-s23}\n"
    "vldmia r1!, {s24-s27}\n"
    PRODUCTS("s28", "s29", "s30", "s31", "s24", "s8", "s9", "s10", "s11")
    PRODUCTS("s4", "s5", "s6", "s7", "s25", "s12", "s13", "s14", "s15")
    ADD("s0", "s1", "s2", "s3", "s28", "s29", "s30", "s31")
    ADD("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
    PRODUCTS("s28", "s29", "s30", "s31", "s26", "s16", "s17", "s18", "s19")
    PRODUCTS("s4", "s5", "s6", "s7", "s27", "s20", "s21", "s22", "s23")
    ADD("s0", "s1", "s2", "s3", "s28", "s29", "s30", "s31")
    ADD("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
    "subs   r12, #1\n"
    "bne    2b\n"
    "3:\n"
    "ands   r12, r4, #3\n"
    "beq    5f\n"
    "4:\n"
    "vldmia r3!, {s8-s11}\n"
    "vldmia r1!, {s24}\n"
    PRODUCTS("s28", "s29", "s30", "s31", "s24", "s8", "s9", "s10", "s11")
    ADD("s0", "s1", "s2", "s3", "s28", "s29", "s30", "s31")
    "subs   r12, #1\n"
    "bne    4b\n"
    "5:\n"
    "add    r1, r6\n"
    "add    r3, r7\n"
    "subs   r5, #1\n"
    "bne    1b\n"
    "vstm   r8, {s0-s3}\n"
    LEAVE
    NNACL_FUNCTION_END("nnacl_multiply4x1_f32_vfp"));

/* r1 x, r2 weights, r12 taps left in a row, s0-s7 the sums, s8-s15 weights and products. */
__asm__(NNACL_FUNCTION("nnacl_taps8_f32_vfp")
    "push   {r4-r9, lr}\n"
    "vpush  {s16-s23}\n"
    "ldm    r0, {r1-r9}\n" /* x, weights, taps, rows, tap_step, row_step, weights_tap, weights_row, sums */
    "vldm   r9, {s0-s7}\n"
    "1:\n" /* a row */
    "mov    r12, r3\n"
    "2:\n"
    "vldmia r2!, {s8-s15}\n"
    "vldmia r1!, {s16-s23}\n"
    "add    r1, r5\n"
    "add    r2, r7\n"
    "vmul.f32 s8, s16, s8\n"
    "vmul.f32 s9, s17, s9\n"
    "vmul.f32 s10, s18, s10\n"
    "vmul.f32 s11, s19, s11\n"
    "vmul.f32 s12, s20, s12\n"
    "vmul.f32 s13, s21, s13\n"
    "vmul.f32 s14, s22, s14\n"
    "vmul.f32 s15, s23, s15\n"
    "vadd.f32 s0, s0, s8\n"
    "vadd.f32 s1, s1, s9\n"
    "vadd.f32 s2, s2, s10\n"
    "vadd.f32 s3, s3, s11\n"
    "vadd.f32 s4, s4, s12\n"
    "vadd.f32 s5, s5, s13\n"
    "vadd.f32 s6, s6, s14\n"
    "vadd.f32 s7, s7, s15\n"
    "subs   r12, #1\n"
    "bne    2b\n"
    "add    r1, r6\n"
    "add    r2, r8\n"
    "subs   r4, #1\n"
    "bne    1b\n"
    "vstm   r9, {s0-s7}\n"
    "vpop   {s16-s23}\n"
    "pop    {r4-r9, pc}\n"
    NNACL_FUNCTION_END("nnacl_taps8_f32_vfp"));
/* clang-format on */
