/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dot_s8_dsp.h"

#include "common/assembly.h"

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
/* clang-format on */
