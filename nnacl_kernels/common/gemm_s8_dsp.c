/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_s8_dsp.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_gemm_dsp) == 36, "the code below loads the fields in this order");

/* clang-format off */
/* One unit of two channels and four positions: 13 instructions of 4 bytes, 16 multiply-accumulates.
 * r0 panel, r1 weights, r4-r7 the sums of a, r8-r11 those of b. */
#define UNIT4                                                                                                          \
    "ldr    r2, [r1], #4\n"                                                                                            \
    "ldrd   r3, r12, [r0], #8\n"                                                                                       \
    "sxtb16 lr, r2\n"                                                                                                  \
    "sxtb16 r2, r2, ror #8\n"                                                                                          \
    "smlad  r4, r3, lr, r4\n"                                                                                          \
    "smlad  r8, r3, r2, r8\n"                                                                                          \
    "smlad  r5, r12, lr, r5\n"                                                                                         \
    "smlad  r9, r12, r2, r9\n"                                                                                         \
    "ldrd   r3, r12, [r0], #8\n"                                                                                       \
    "smlad  r6, r3, lr, r6\n"                                                                                          \
    "smlad  r10, r3, r2, r10\n"                                                                                        \
    "smlad  r7, r12, lr, r7\n"                                                                                         \
    "smlad  r11, r12, r2, r11\n"

/* The ends of the lines of two channels, and four positions written. */
#define FINISH4                                                                                                        \
    ".macro finish4 shift\n"                                                                                           \
    "ldr    r0, [sp, #36]\n"                                                                                           \
    "ldmdb  r0, {r2, r3, r12, lr}\n" /* multiplier and offset of a, of b */                                            \
    ".irp   sum, r4, r5, r6, r7\n"                                                                                     \
    "smmla  \\sum, \\sum, r2, r3\n"                                                                                   \
    ".endr\n"                                                                                                          \
    ".irp   sum, r8, r9, r10, r11\n"                                                                                   \
    "smmla  \\sum, \\sum, r12, lr\n"                                                                                  \
    ".endr\n"                                                                                                          \
    ".irp   sum, r4, r5, r6, r7, r8, r9, r10, r11\n"                                                                   \
    "ssat   \\sum, #8, \\sum, asr #\\shift\n"                                                                         \
    ".endr\n"                                                                                                          \
    "ldr    r0, [sp, #20]\n"                                                                                           \
    "ldrd   r2, r3, [sp, #24]\n"                                                                                       \
    "strb   r4, [r0]\n"                                                                                                \
    "strb   r5, [r0, r2]\n"                                                                                            \
    "strb   r6, [r0, r2, lsl #1]\n"                                                                                    \
    "strb   r7, [r0, r3]\n"                                                                                            \
    "strb   r8, [r0, #1]!\n"                                                                                           \
    "strb   r9, [r0, r2]\n"                                                                                            \
    "strb   r10, [r0, r2, lsl #1]\n"                                                                                   \
    "strb   r11, [r0, r3]\n"                                                                                           \
    "adds   r0, #1\n"                                                                                                  \
    "str    r0, [sp, #20]\n"                                                                                           \
    "ldr    r2, [sp, #16]\n"                                                                                           \
    "cmp    r1, r2\n"                                                                                                  \
    "bne    1b\n"                                                                                                      \
    "b      6f\n"                                                                                                      \
    ".endm\n"

/* The loop over the units is unrolled eight times and entered in the middle, so that it ends with the last unit.
 * On the stack: 0 panel, 4 its end, 8 where the loop is entered, 12 what follows it, 16 end of the weights, 20 y,
 * 24 stride, 28 stride * 3, 32 sums, 36 the next lines. */
__asm__(FINISH4 NNACL_FUNCTION("nnacl_gemm4_s8_dsp")
    "push   {r4-r11, lr}\n"
    "sub    sp, #40\n"
    "ldm    r0, {r1-r8}\n" /* panel, units, weights, pairs, y, stride, shift, sums */
    "ldr    r0, [r0, #32]\n"
    "str    r0, [sp, #36]\n"
    "add    r9, r1, r2, lsl #4\n"
    "strd   r1, r9, [sp, #0]\n"
    "subs   r9, r2, #1\n"
    "and    r9, r9, #7\n"
    "add    r9, r9, #1\n" /* units of the first round */
    "adr    r10, 3f + 1\n"
    "mov    r11, #52\n"
    "mls    r10, r9, r11, r10\n"
    "adr    r11, 4f + 1\n"
    "cmp    r7, #1\n"
    "it     eq\n"
    "addeq  r11, r11, #(5f - 4f)\n"
    "it     cc\n"
    "addcc  r11, r11, #(7f - 4f)\n"
    "cmp    r7, #12\n"
    "it     eq\n"
    "addeq  r11, r11, #(8f - 4f)\n"
    "strd   r10, r11, [sp, #8]\n"
    "lsls   r9, r2, #2\n"
    "mla    r9, r9, r4, r3\n"
    "strd   r9, r5, [sp, #16]\n"
    "add    r9, r6, r6, lsl #1\n"
    "strd   r6, r9, [sp, #24]\n"
    "str    r8, [sp, #32]\n"
    "mov    r1, r3\n"
    "1:\n"
    "ldr    r0, [sp, #36]\n"
    "ldrd   r4, r8, [r0], #24\n"
    "str    r0, [sp, #36]\n"
    "mov    r5, r4\n"
    "mov    r6, r4\n"
    "mov    r7, r4\n"
    "mov    r9, r8\n"
    "mov    r10, r8\n"
    "mov    r11, r8\n"
    "ldr    r0, [sp, #0]\n"
    "ldr    pc, [sp, #8]\n"
    ".balign 4\n"
    "2:\n"
    ".rept 8\n" UNIT4 ".endr\n"
    "3:\n"
    "ldr    r2, [sp, #4]\n"
    "cmp    r0, r2\n"
    "bne    2b\n"
    "ldr    pc, [sp, #12]\n"
    ".balign 4\n"
    "4:\n"
    "finish4 4\n"
    ".balign 4\n"
    "5:\n"
    "finish4 1\n"
    ".balign 4\n"
    "8:\n"
    "finish4 12\n"
    ".balign 4\n"
    "7:\n"
    "ldr    r0, [sp, #32]\n"
    "stm    r0, {r4-r11}\n"
    "6:\n"
    "mov    r0, r1\n"
    "add    sp, #40\n"
    "pop    {r4-r11, pc}\n"
    ".purgem finish4\n"
    NNACL_FUNCTION_END("nnacl_gemm4_s8_dsp"));

#define UNIT1(w, x)                                                                                                    \
    "sxtb16 r12, " w "\n"                                                                                              \
    "sxtb16 " w ", " w ", ror #8\n"                                                                                    \
    "smlad  r10, " x ", r12, r10\n"                                                                                    \
    "smlad  r11, " x ", " w ", r11\n"

/* On the stack: 0 panel, 4 units / 4, 8 units % 4, 12 pairs, 16 y, 20 shift, 24 sums, 28 the next lines. */
__asm__(NNACL_FUNCTION("nnacl_gemm1_s8_dsp")
    "push   {r4-r11, lr}\n"
    "sub    sp, #32\n"
    "ldm    r0, {r1-r8}\n" /* panel, units, weights, pairs, y, stride, shift, sums */
    "lsrs   r9, r2, #2\n"
    "and    r2, r2, #3\n"
    "strd   r1, r9, [sp, #0]\n"
    "strd   r2, r4, [sp, #8]\n"
    "strd   r5, r7, [sp, #16]\n"
    "ldr    r0, [r0, #32]\n"
    "strd   r8, r0, [sp, #24]\n"
    "mov    r1, r3\n"
    "1:\n"
    "ldr    r0, [sp, #28]\n"
    "ldrd   r10, r11, [r0], #24\n"
    "str    r0, [sp, #28]\n"
    "ldrd   r0, lr, [sp, #0]\n"
    "cmp    lr, #0\n"
    "beq    3f\n"
    "2:\n"
    "ldm    r1!, {r2-r5}\n"
    "ldm    r0!, {r6-r9}\n"
    UNIT1("r2", "r6") UNIT1("r3", "r7") UNIT1("r4", "r8") UNIT1("r5", "r9")
    "subs   lr, #1\n"
    "bne    2b\n"
    "3:\n"
    "ldr    lr, [sp, #8]\n"
    "cmp    lr, #0\n"
    "beq    5f\n"
    "4:\n"
    "ldr    r2, [r1], #4\n"
    "ldr    r6, [r0], #4\n"
    UNIT1("r2", "r6")
    "subs   lr, #1\n"
    "bne    4b\n"
    "5:\n"
    "ldr    r0, [sp, #28]\n"
    "ldmdb  r0, {r2-r5}\n" /* multiplier and offset of a, of b */
    "ldrd   r6, r7, [sp, #16]\n"
    "cbz    r7, 8f\n"
    "smmla  r10, r10, r2, r3\n"
    "smmla  r11, r11, r4, r5\n"
    "asrs   r10, r7\n"
    "asrs   r11, r7\n"
    "ssat   r10, #8, r10\n"
    "ssat   r11, #8, r11\n"
    "strb   r10, [r6], #1\n"
    "strb   r11, [r6], #1\n"
    "str    r6, [sp, #16]\n"
    "ldr    r2, [sp, #12]\n"
    "subs   r2, #1\n"
    "str    r2, [sp, #12]\n"
    "bne    1b\n"
    "7:\n"
    "mov    r0, r1\n"
    "add    sp, #32\n"
    "pop    {r4-r11, pc}\n"
    "8:\n"
    "ldr    r0, [sp, #24]\n"
    "stm    r0, {r10, r11}\n"
    "b      7b\n"
    NNACL_FUNCTION_END("nnacl_gemm1_s8_dsp"));

/* Of the last three elements the units (0, 2) and (1, -), of two (0, 1), of one (0, -). The second half
 * of a unit with one element may be anything, for its weight is 0. `evens` and `odds` widen two elements of a word; in lr
 * below the bits of `mask` the rounds. `high` shifts one element. */
#define WIDEN4(name, mask, evens, odds, high)                                                                          \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r2, r4-r11, lr}\n"                                                                                        \
    "lsrs   lr, r2, #2\n"                                                                                              \
    "ldm    r1, {r1-r3, r12}\n"                                                                                        \
    "beq    2f\n"                                                                                                      \
    mask                                                                                                               \
    "1:\n"                                                                                                             \
    "ldr    r8, [r1], #4\n"                                                                                            \
    "ldr    r9, [r2], #4\n"                                                                                            \
    "ldr    r10, [r3], #4\n"                                                                                           \
    "ldr    r11, [r12], #4\n"                                                                                          \
    evens("r4", "r8")                                                                                                  \
    evens("r5", "r9")                                                                                                  \
    evens("r6", "r10")                                                                                                 \
    evens("r7", "r11")                                                                                                 \
    odds("r8")                                                                                                         \
    odds("r9")                                                                                                         \
    odds("r10")                                                                                                        \
    odds("r11")                                                                                                        \
    "stm    r0!, {r4-r11}\n"                                                                                           \
    "subs   lr, #1\n"                                                                                                  \
    high##_TEST                                                                                                        \
    "bne    1b\n"                                                                                                      \
    "2:\n"                                                                                                             \
    "ldr    lr, [sp], #4\n"                                                                                            \
    "ands   lr, lr, #3\n"                                                                                              \
    "beq    5f\n"                                                                                                      \
    "ldrsb  r4, [r1]\n"                                                                                                \
    "ldrsb  r5, [r2]\n"                                                                                                \
    "ldrsb  r6, [r3]\n"                                                                                                \
    "ldrsb  r7, [r12]\n"                                                                                               \
    high("r4") high("r5") high("r6") high("r7")                                                                        \
    "cmp    lr, #2\n"                                                                                                  \
    "bcc    3f\n"                                                                                                      \
    "ldrsb  r8, [r1, #1]\n"                                                                                            \
    "ldrsb  r9, [r2, #1]\n"                                                                                            \
    "ldrsb  r10, [r3, #1]\n"                                                                                           \
    "ldrsb  r11, [r12, #1]\n"                                                                                          \
    high("r8") high("r9") high("r10") high("r11")                                                                      \
    "beq    4f\n"                                                                                                      \
    "ldrsb  r1, [r1, #2]\n"                                                                                            \
    "ldrsb  r2, [r2, #2]\n"                                                                                            \
    "ldrsb  r3, [r3, #2]\n"                                                                                            \
    "ldrsb  r12, [r12, #2]\n"                                                                                          \
    high("r1") high("r2") high("r3") high("r12")                                                                       \
    "pkhbt  r4, r4, r1, lsl #16\n"                                                                                     \
    "pkhbt  r5, r5, r2, lsl #16\n"                                                                                     \
    "pkhbt  r6, r6, r3, lsl #16\n"                                                                                     \
    "pkhbt  r7, r7, r12, lsl #16\n"                                                                                    \
    "stm    r0!, {r4-r11}\n"                                                                                           \
    "pop    {r4-r11, pc}\n"                                                                                            \
    "4:\n"                                                                                                             \
    "pkhbt  r4, r4, r8, lsl #16\n"                                                                                     \
    "pkhbt  r5, r5, r9, lsl #16\n"                                                                                     \
    "pkhbt  r6, r6, r10, lsl #16\n"                                                                                    \
    "pkhbt  r7, r7, r11, lsl #16\n"                                                                                    \
    "3:\n"                                                                                                             \
    "stm    r0!, {r4-r7}\n"                                                                                            \
    "5:\n"                                                                                                             \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

#define WIDEN1(name, mask, evens, odds, high)                                                                          \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4, lr}\n"                                                                                                \
    "lsrs   lr, r2, #2\n"                                                                                              \
    "beq    2f\n"                                                                                                      \
    mask                                                                                                               \
    "1:\n"                                                                                                             \
    "ldr    r3, [r1], #4\n"                                                                                            \
    evens("r12", "r3")                                                                                                 \
    odds("r3")                                                                                                         \
    "strd   r12, r3, [r0], #8\n"                                                                                       \
    "subs   lr, #1\n"                                                                                                  \
    high##_TEST                                                                                                        \
    "bne    1b\n"                                                                                                      \
    "2:\n"                                                                                                             \
    "ands   r2, r2, #3\n"                                                                                              \
    "beq    5f\n"                                                                                                      \
    "ldrsb  r3, [r1]\n"                                                                                                \
    high("r3")                                                                                                         \
    "cmp    r2, #2\n"                                                                                                  \
    "bcc    3f\n"                                                                                                      \
    "ldrsb  r4, [r1, #1]\n"                                                                                            \
    high("r4")                                                                                                         \
    "beq    4f\n"                                                                                                      \
    "ldrsb  r12, [r1, #2]\n"                                                                                           \
    high("r12")                                                                                                        \
    "pkhbt  r3, r3, r12, lsl #16\n"                                                                                    \
    "strd   r3, r4, [r0], #8\n"                                                                                        \
    "pop    {r4, pc}\n"                                                                                                \
    "4:\n"                                                                                                             \
    "pkhbt  r3, r3, r4, lsl #16\n"                                                                                     \
    "3:\n"                                                                                                             \
    "str    r3, [r0], #4\n"                                                                                            \
    "5:\n"                                                                                                             \
    "pop    {r4, pc}\n"                                                                                                \
    NNACL_FUNCTION_END(name)

#define LOW_MASK
#define LOW_EVENS(to, x) "sxtb16 " to ", " x "\n"
#define LOW_ODDS(x) "sxtb16 " x ", " x ", ror #8\n"
#define LOW(x)
#define LOW_TEST
#define HIGH_MASK "orr    lr, lr, #0xff00ff00\n"
#define HIGH_EVENS(to, x) "and    " to ", lr, " x ", lsl #8\n"
#define HIGH_ODDS(x) "and    " x ", " x ", #0xff00ff00\n"
#define HIGH(x) "lsl    " x ", " x ", #8\n"
#define HIGH_TEST "tst    lr, #0xff\n"

__asm__(WIDEN4("nnacl_widen4_s8_dsp", LOW_MASK, LOW_EVENS, LOW_ODDS, LOW));
__asm__(WIDEN1("nnacl_widen1_s8_dsp", LOW_MASK, LOW_EVENS, LOW_ODDS, LOW));
__asm__(WIDEN4("nnacl_widen4_high_s8_dsp", HIGH_MASK, HIGH_EVENS, HIGH_ODDS, HIGH));
__asm__(WIDEN1("nnacl_widen1_high_s8_dsp", HIGH_MASK, HIGH_EVENS, HIGH_ODDS, HIGH));
/* clang-format on */
