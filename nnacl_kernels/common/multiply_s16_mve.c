/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_s16_mve.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_multiply_s16_mve) == 32,
               "the code below loads the fields in this order");

/* clang-format off */
/* r1 and r2 the rows, r0 and r3 weights, r4-r11 the sums. On the stack the fields: 16 length, 20 runs left, 24 row_step,
 * 28 sums. The loop ends beyond the run by what its last vector has too much. */
__asm__(NNACL_FUNCTION("nnacl_multiply2x2_s16_mve")
    "push   {r4-r11, lr}\n"
    "sub    sp, #36\n"
    "ldm    r0, {r1-r8}\n"
    "stm    sp, {r1-r8}\n"
    "add    r0, r3, r4\n"
    "ldm    r8, {r4-r11}\n"
    "1:\n" /* a run */
    "ldr    r12, [sp, #16]\n"
    "wlstp.16 lr, r12, 3f\n"
    "2:\n"
    "vldrh.u16 q0, [r1], #16\n"
    "vldrb.s16 q2, [r3], #8\n"
    "vldrh.u16 q1, [r2], #16\n"
    "vmlaldava.s16 r4, r5, q0, q2\n"
    "vldrb.s16 q3, [r0], #8\n"
    "vmlaldava.s16 r8, r9, q1, q2\n"
    "vmlaldava.s16 r6, r7, q0, q3\n"
    "vmlaldava.s16 r10, r11, q1, q3\n"
    "letp   lr, 2b\n"
    "3:\n"
    "rsb    lr, r12, #0\n"
    "and    lr, lr, #7\n"
    "sub    r3, r3, lr\n"
    "sub    r0, r0, lr\n"
    "add    lr, lr, r12\n"
    "ldr    r12, [sp, #24]\n"
    "sub    r12, r12, lr, lsl #1\n"
    "add    r1, r12\n"
    "add    r2, r12\n"
    "ldr    r12, [sp, #20]\n"
    "subs   r12, #1\n"
    "str    r12, [sp, #20]\n"
    "bne    1b\n"
    "ldr    r0, [sp, #28]\n"
    "stm    r0, {r4-r11}\n"
    "add    sp, #36\n"
    "pop    {r4-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_multiply2x2_s16_mve"));

/* q0 the sums of even channels, q1 those of odd ones: VLD2 and VST2 sort them. */
__asm__(NNACL_FUNCTION("nnacl_taps8_s16_mve")
    "push   {r4-r6, lr}\n"
    "vpush  {d8-d9}\n"
    "ldrd   r4, r5, [sp, #32]\n"
    "vld20.32 {q0, q1}, [r5]\n"
    "vld21.32 {q0, q1}, [r5]\n"
    "dls    lr, r4\n"
    "1:\n"
    "vldrh.u16 q2, [r0]\n"
    "vldrb.s16 q3, [r2]\n"
    "add    r0, r1\n"
    "vmullb.s16 q4, q2, q3\n"
    "add    r2, r3\n"
    "vadd.i32 q0, q0, q4\n"
    "vmullt.s16 q4, q2, q3\n"
    "vadd.i32 q1, q1, q4\n"
    "le     lr, 1b\n"
    "vst20.32 {q0, q1}, [r5]\n"
    "vst21.32 {q0, q1}, [r5]\n"
    "vpop   {d8-d9}\n"
    "pop    {r4-r6, pc}\n"
    NNACL_FUNCTION_END("nnacl_taps8_s16_mve"));
/* clang-format on */
