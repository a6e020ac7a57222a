/* SPDX-License-Identifier: Apache-2.0 */
#include "common/multiply_s16_dsp.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_multiply_s16_dsp) == 28,
               "the code below loads the fields in this order");

/* clang-format off */
#define WEIGHTS                                                                                                        \
    "ldr    r12, [r3], #4\n"                                                                                           \
    "sxtb16 lr, r12\n"                                                                                                 \
    "sxtb16 r12, r12, ror #8\n"
#define FIRST                                                                                                          \
    "ldr    r0, [r1], #4\n"                                                                                            \
    "smlald r4, r5, r0, lr\n"                                                                                          \
    "smlald r6, r7, r0, r12\n"
#define SECOND                                                                                                         \
    "ldr    r0, [r2], #4\n"                                                                                            \
    "smlald r8, r9, r0, lr\n"                                                                                          \
    "smlald r10, r11, r0, r12\n"
#define UNIT1 WEIGHTS FIRST
#define UNIT2 WEIGHTS FIRST SECOND

/* r1 and r2 the rows, r3 weights, r4-r11 the sums. On the stack: 0 units, 4 runs left, 8 row_step, 12 sums, 16 end of the
 * units that are taken by fours, 20 end of the run. */
#define MULTIPLY(name, unit, sums)                                                                                     \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #28\n"                                                                                                 \
    "ldm    r0, {r1-r7}\n" /* x, second, weights, units, runs, row_step, sums */                                       \
    "strd   r4, r5, [sp, #0]\n"                                                                                        \
    "strd   r6, r7, [sp, #8]\n"                                                                                        \
    "mov    r0, r7\n"                                                                                                  \
    "ldm    r0, {" sums "}\n"                                                                                          \
    "1:\n" /* a run */                                                                                                 \
    "ldr    r0, [sp, #0]\n"                                                                                            \
    "bic    r12, r0, #3\n"                                                                                             \
    "add    r12, r3, r12, lsl #2\n"                                                                                    \
    "add    r0, r3, r0, lsl #2\n"                                                                                      \
    "strd   r12, r0, [sp, #16]\n"                                                                                      \
    "cmp    r3, r12\n"                                                                                                 \
    "beq    3f\n"                                                                                                      \
    "2:\n"                                                                                                             \
    unit unit unit unit                                                                                                \
    "ldr    r0, [sp, #16]\n"                                                                                           \
    "cmp    r3, r0\n"                                                                                                  \
    "bne    2b\n"                                                                                                      \
    "3:\n"                                                                                                             \
    "ldr    r0, [sp, #20]\n"                                                                                           \
    "cmp    r3, r0\n"                                                                                                  \
    "beq    4f\n"                                                                                                      \
    unit                                                                                                               \
    "b      3b\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "ldr    r0, [sp, #8]\n"                                                                                            \
    "add    r1, r0\n"                                                                                                  \
    "add    r2, r0\n"                                                                                                  \
    "ldr    r0, [sp, #4]\n"                                                                                            \
    "subs   r0, #1\n"                                                                                                  \
    "str    r0, [sp, #4]\n"                                                                                            \
    "bne    1b\n"                                                                                                      \
    "ldr    r0, [sp, #12]\n"                                                                                           \
    "stm    r0, {" sums "}\n"                                                                                          \
    "add    sp, #28\n"                                                                                                 \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(MULTIPLY("nnacl_multiply2x1_s16_dsp", UNIT1, "r4-r7"));
__asm__(MULTIPLY("nnacl_multiply2x2_s16_dsp", UNIT2, "r4-r11"));
/* clang-format on */
