/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8_dsp.h"

#include "common/assembly_dsp.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_taps_dsp) == 32, "the code below loads the fields in this order");

/* clang-format off */
/* Four elements of the depth. r0 x, r1 weights, r4-r7 sums. */
#define QUAD                                                                                                           \
    "ldr    r8, [r0], #4\n"                                                                                            \
    "ldm    r1!, {r2, r3, r10, r11}\n"                                                                                 \
    "sxtb16 r9, r8, ror #8\n"                                                                                          \
    "sxtb16 r8, r8\n"                                                                                                  \
    CHANNEL("r4", "r2") CHANNEL("r5", "r3") CHANNEL("r6", "r10") CHANNEL("r7", "r11")
#define CHANNEL(sum, w)                                                                                                \
    "sxtb16 r12, " w "\n"                                                                                              \
    "sxtb16 " w ", " w ", ror #8\n"                                                                                    \
    "smlad  " sum ", r12, r8, " sum "\n"                                                                               \
    "smlad  " sum ", " w ", r9, " sum "\n"

__asm__(NNACL_FUNCTION("nnacl_dot4_s8_dsp")
    "push   {r3-r11, lr}\n"
    "mov    lr, r2\n"
    "ldm    r1!, {r4-r7}\n"
    "adds   lr, #1\n"
    "lsrs   lr, lr, #1\n"
    "beq    3f\n"
    "lsls   r2, r2, #31\n"
    "bne    2f\n" /* an odd number: the first round is half a one */
    "1:\n"
    QUAD
    "2:\n"
    QUAD
    "subs   lr, #1\n"
    "bne    1b\n"
    "3:\n"
    "ldr    r3, [sp]\n"
    "stm    r3, {r4-r7}\n"
    "mov    r0, r1\n"
    "pop    {r3-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_dot4_s8_dsp"));

/* r0 taps left, r1 weights, r2 taps, r3 channel, r4-r7 sums, r8 address of a tap. On the stack the fields. */
__asm__(NNACL_FUNCTION("nnacl_taps_s8_dsp")
    "push   {r4-r11, lr}\n"
    "sub    sp, #36\n"
    "ldm    r0, {r4-r11}\n"
    "stm    sp, {r4-r11}\n"
    "mov    r1, r6\n"
    "1:\n" /* a group */
    "ldm    r1!, {r4-r7}\n"
    "ldrd   r2, r0, [sp]\n"
    "ldr    r3, [sp, #16]\n"
    "2:\n" /* a tap */
    "ldr    r8, [r2], #4\n"
    "ldr    r9, [r1], #4\n"
    "ldr    r8, [r8, r3]\n"
    "sxtb16 r10, r9\n"
    "sxtb16 r9, r9, ror #8\n"
    "sxtb16 r11, r8\n"
    "sxtb16 r8, r8, ror #8\n"
    "smlabb r4, r10, r11, r4\n"
    "smlatt r6, r10, r11, r6\n"
    "smlabb r5, r9, r8, r5\n"
    "smlatt r7, r9, r8, r7\n"
    "subs   r0, #1\n"
    "bne    2b\n"
    "ldr    r12, [sp, #24]\n"
    "cmp    r12, #0\n"
    "beq    3f\n"
    "ldm    r1!, {r8-r11}\n"
    "smmla  r4, r4, r8, r9\n"
    "smmla  r5, r5, r10, r11\n"
    "ldm    r1!, {r8-r11}\n"
    "smmla  r6, r6, r8, r9\n"
    "smmla  r7, r7, r10, r11\n"
    "ldr    r8, [sp, #20]\n"
    ".irp   sum, r4, r5, r6, r7\n"
    "asr    \\sum, \\sum, r12\n"
    "ssat   \\sum, #8, \\sum\n"
    "strb   \\sum, [r8], #1\n"
    ".endr\n"
    "adds   r3, #4\n"
    "ldr    r9, [sp, #12]\n"
    "strd   r3, r8, [sp, #16]\n"
    "subs   r9, #1\n"
    "str    r9, [sp, #12]\n"
    "bne    1b\n"
    "b      4f\n"
    "3:\n"
    "ldr    r8, [sp, #28]\n"
    "stm    r8, {r4-r7}\n"
    "adds   r1, #32\n"
    "4:\n"
    "mov    r0, r1\n"
    "add    sp, #36\n"
    "pop    {r4-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_taps_s8_dsp"));
/* clang-format on */
