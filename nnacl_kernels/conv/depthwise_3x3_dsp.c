/* SPDX-License-Identifier: Apache-2.0 */
#include "conv/depthwise_3x3_dsp.h"

#include "common/assembly.h"

_Static_assert(sizeof(void *) == 4 && sizeof(nnacl_sweep_row) == 52 && sizeof(nnacl_taps) == 36,
               "the code below loads the fields in this order");

/* clang-format off */
/* Registers: r4-r7 the sums of four outputs, r8-r12 and lr the weights, r0-r2 a pair of each row, r3 the next pairs.
 * A pair is (x0, x1); the weights of a row are P = (w0, w1) and Q = (w1, w2). */
#define EACH_ROW(a, b, c, d)                                                                                           \
    ".macro row x, p, q\n" a b c d ".endm\n"                                                                           \
    "row    r0, r8, r9\n"                                                                                              \
    "row    r1, r10, r11\n"                                                                                            \
    "row    r2, r12, lr\n"                                                                                             \
    ".purgem row\n"
#define NEXT_PAIRS "ldm r3!, {r0-r2}\n"
#define SAME_PAIRS "ldm r3, {r0-r2}\n"
/* What a pair does for an output `sum` whose window begins ... */
#define HERE(sum) "smlad " sum ", \\x, \\p, " sum "\n"            /* at x0 */
#define AT_SECOND(sum) "smlatb " sum ", \\x, \\p, " sum "\n"      /* at x1 */
#define ONE_BEFORE(sum) "smlad " sum ", \\x, \\q, " sum "\n"      /* one before x0 */
#define TWO_BEFORE(sum) "smlabt " sum ", \\x, \\q, " sum "\n"     /* two before x0 */

#define BLOCK_STRIDE1                                                                                                  \
    NEXT_PAIRS EACH_ROW(HERE("r4"), AT_SECOND("r5"), "", "")                                                           \
    NEXT_PAIRS EACH_ROW(TWO_BEFORE("r4"), ONE_BEFORE("r5"), HERE("r6"), AT_SECOND("r7"))                               \
    SAME_PAIRS EACH_ROW(TWO_BEFORE("r6"), ONE_BEFORE("r7"), "", "")
#define BLOCK_STRIDE2                                                                                                  \
    NEXT_PAIRS EACH_ROW(HERE("r4"), "", "", "")                                                                        \
    NEXT_PAIRS EACH_ROW(TWO_BEFORE("r4"), HERE("r5"), "", "")                                                          \
    NEXT_PAIRS EACH_ROW(TWO_BEFORE("r5"), HERE("r6"), "", "")                                                          \
    NEXT_PAIRS EACH_ROW(TWO_BEFORE("r6"), HERE("r7"), "", "")                                                          \
    SAME_PAIRS EACH_ROW(TWO_BEFORE("r7"), "", "", "")

/* The ends of the lines, and up to four outputs written; then the next block, or the next channel. */
#define FINISH(shift)                                                                                                  \
    "ldrd   r0, r1, [sp, #4]\n"                                                                                        \
    ".irp   sum, r4, r5, r6, r7\n"                                                                                     \
    "smmla  \\sum, \\sum, r0, r1\n"                                                                                    \
    ".endr\n"                                                                                                          \
    ".irp   sum, r4, r5, r6, r7\n"                                                                                     \
    "ssat   \\sum, #8, \\sum, asr #" shift "\n"                                                                        \
    ".endr\n"                                                                                                          \
    "b      4f\n"

/* On the stack: 0 start, 4 multiplier, 8 offset, 12 y of the next output, 16 outputs left, 20 where the block goes on,
 * 24 and further the fields: x, 28 x_step, 32 weights, 36 weights_step, 40 lines, 44 lines_step, 48 y, 52 y_step,
 * 56 channels, 60 count, 64 stride, 68 shift, 72 sums. */
#define ROW_FUNCTION(name, block)                                                                                      \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #76\n"                                                                                                 \
    "ldr    r1, [r0, #48]\n"                                                                                           \
    "str    r1, [sp, #72]\n"                                                                                           \
    "ldm    r0, {r1-r12}\n"                                                                                            \
    "add    lr, sp, #24\n"                                                                                             \
    "stm    lr, {r1-r12}\n"                                                                                            \
    "adr    r0, 3f + 1\n"                                                                                              \
    "cmp    r12, #1\n"                                                                                                 \
    "it     eq\n"                                                                                                      \
    "addeq  r0, r0, #(5f - 3f)\n"                                                                                      \
    "it     cc\n"                                                                                                      \
    "addcc  r0, r0, #(6f - 3f)\n"                                                                                      \
    "cmp    r12, #12\n"                                                                                                \
    "it     eq\n"                                                                                                      \
    "addeq  r0, r0, #(7f - 3f)\n"                                                                                      \
    "str    r0, [sp, #20]\n"                                                                                           \
    "1:\n" /* a channel */                                                                                             \
    "ldrd   r0, r1, [sp, #32]\n"                                                                                       \
    "add    r1, r0\n"                                                                                                  \
    "str    r1, [sp, #32]\n"                                                                                           \
    "ldm    r0, {r8-r12, lr}\n"                                                                                        \
    "ldrd   r0, r1, [sp, #40]\n"                                                                                       \
    "add    r1, r0\n"                                                                                                  \
    "str    r1, [sp, #40]\n"                                                                                           \
    "ldm    r0, {r4-r6}\n"                                                                                             \
    "ldr    r7, [sp, #48]\n"                                                                                           \
    "ldr    r0, [sp, #52]\n"                                                                                           \
    "ldr    r2, [sp, #60]\n"                                                                                           \
    "stm    sp, {r4-r7}\n"                                                                                             \
    "str    r2, [sp, #16]\n"                                                                                           \
    "add    r0, r7\n"                                                                                                  \
    "str    r0, [sp, #48]\n"                                                                                           \
    "ldrd   r3, r1, [sp, #24]\n"                                                                                       \
    "add    r1, r3\n"                                                                                                  \
    "str    r1, [sp, #24]\n"                                                                                           \
    "2:\n" /* four outputs */                                                                                          \
    "ldr    r4, [sp, #0]\n"                                                                                            \
    "mov    r5, r4\n"                                                                                                  \
    "mov    r6, r4\n"                                                                                                  \
    "mov    r7, r4\n"                                                                                                  \
    block                                                                                                              \
    "ldr    pc, [sp, #20]\n"                                                                                           \
    ".balign 4\n"                                                                                                      \
    "3:\n"                                                                                                             \
    FINISH("4")                                                                                                        \
    ".balign 4\n"                                                                                                      \
    "5:\n"                                                                                                             \
    FINISH("1")                                                                                                        \
    ".balign 4\n"                                                                                                      \
    "7:\n"                                                                                                             \
    FINISH("12")                                                                                                       \
    ".balign 4\n"                                                                                                      \
    "6:\n"                                                                                                             \
    "ldr    r0, [sp, #72]\n"                                                                                           \
    "stm    r0, {r4-r7}\n"                                                                                             \
    "b      9f\n"                                                                                                      \
    "4:\n"                                                                                                             \
    "ldrd   r0, r2, [sp, #12]\n"                                                                                       \
    "ldr    r1, [sp, #64]\n"                                                                                           \
    "subs   r2, #4\n"                                                                                                  \
    "blt    7f\n"                                                                                                      \
    "strb   r4, [r0]\n"                                                                                                \
    "strb   r5, [r0, r1]\n"                                                                                            \
    "strb   r6, [r0, r1, lsl #1]\n"                                                                                    \
    "add    r4, r1, r1, lsl #1\n"                                                                                      \
    "strb   r7, [r0, r4]\n"                                                                                            \
    "add    r0, r0, r1, lsl #2\n"                                                                                      \
    "strd   r0, r2, [sp, #12]\n"                                                                                       \
    "bgt    2b\n"                                                                                                      \
    "b      8f\n"                                                                                                      \
    "7:\n"                                                                                                             \
    "strb   r4, [r0]\n"                                                                                                \
    "adds   r2, #2\n"                                                                                                  \
    "blt    8f\n"                                                                                                      \
    "strb   r5, [r0, r1]\n"                                                                                            \
    "beq    8f\n"                                                                                                      \
    "strb   r6, [r0, r1, lsl #1]\n"                                                                                    \
    "8:\n"                                                                                                             \
    "ldr    r0, [sp, #56]\n"                                                                                           \
    "subs   r0, #1\n"                                                                                                  \
    "str    r0, [sp, #56]\n"                                                                                           \
    "bne    1b\n"                                                                                                      \
    "9:\n"                                                                                                             \
    "add    sp, #76\n"                                                                                                 \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

__asm__(ROW_FUNCTION("nnacl_depthwise_3x3_stride1_dsp", BLOCK_STRIDE1));
__asm__(ROW_FUNCTION("nnacl_depthwise_3x3_stride2_dsp", BLOCK_STRIDE2));

__asm__(NNACL_FUNCTION("nnacl_widen_pairs_dsp")
    "push   {r4-r10, lr}\n"
    "ldrd   r10, lr, [sp, #32]\n"
    "add    r12, r3, r3, lsl #1\n"
    "1:\n"
    "ldr    r4, [r0]\n"
    "ldr    r5, [r0, r1]\n"
    "add    r0, r0, r1, lsl #1\n"
    "sxtb16 r6, r4\n"
    "sxtb16 r7, r5\n"
    "sxtb16 r4, r4, ror #8\n"
    "sxtb16 r5, r5, ror #8\n"
    "pkhbt  r8, r6, r7, lsl #16\n"
    "pkhtb  r6, r7, r6, asr #16\n"
    "pkhbt  r9, r4, r5, lsl #16\n"
    "pkhtb  r4, r5, r4, asr #16\n"
    "str    r8, [r2]\n"
    "str    r9, [r2, r3]\n"
    "str    r6, [r2, r3, lsl #1]\n"
    "str    r4, [r2, r12]\n"
    "add    r2, r10\n"
    "subs   lr, #1\n"
    "bne    1b\n"
    "pop    {r4-r10, pc}\n"
    NNACL_FUNCTION_END("nnacl_widen_pairs_dsp"));

/* r0 taps left, r1 weights, r2 taps, r3 channel, r4-r7 sums, r8 address of a tap. `weights` makes the channels 0 and 2
 * of a tap in r10 and 1 and 3 in r9, `inputs` the same of x in r11 and r8. lr lines. On the stack the fields. */
#define TAPS_FUNCTION(name, weights, inputs, mask)                                                                                   \
    NNACL_FUNCTION(name)                                                                                               \
    "push   {r4-r11, lr}\n"                                                                                            \
    "sub    sp, #36\n"                                                                                                 \
    "ldm    r0, {r4-r11}\n"                                                                                            \
    "stm    sp, {r4-r11}\n"                                                                                            \
    "mov    r1, r6\n"                                                                                                  \
    "ldr    lr, [r0, #32]\n"                                                                                           \
    "1:\n" /* a group */                                                                                               \
    "ldm    lr!, {r4-r7}\n"                                                                                            \
    mask                                                                                                               \
    "ldrd   r2, r0, [sp]\n"                                                                                            \
    "ldr    r3, [sp, #16]\n"                                                                                           \
    "2:\n" /* a tap */                                                                                                 \
    "ldr    r8, [r2], #4\n"                                                                                            \
    "ldr    r8, [r8, r3]\n"                                                                                            \
    weights                                                                                                            \
    inputs                                                                                                             \
    "smlabb r4, r10, r11, r4\n"                                                                                        \
    "smlatt r6, r10, r11, r6\n"                                                                                        \
    "smlabb r5, r9, r8, r5\n"                                                                                          \
    "smlatt r7, r9, r8, r7\n"                                                                                          \
    "subs   r0, #1\n"                                                                                                  \
    "bne    2b\n"                                                                                                      \
    "ldr    r12, [sp, #24]\n"                                                                                          \
    "cmp    r12, #0\n"                                                                                                 \
    "beq    3f\n"                                                                                                      \
    "ldm    lr!, {r8-r11}\n"                                                                                           \
    "smmla  r4, r4, r8, r9\n"                                                                                          \
    "smmla  r5, r5, r10, r11\n"                                                                                        \
    "ldm    lr!, {r8-r11}\n"                                                                                           \
    "smmla  r6, r6, r8, r9\n"                                                                                          \
    "smmla  r7, r7, r10, r11\n"                                                                                        \
    "ldr    r8, [sp, #20]\n"                                                                                           \
    ".irp   sum, r4, r5, r6, r7\n"                                                                                     \
    "asr    \\sum, \\sum, r12\n"                                                                                       \
    "ssat   \\sum, #8, \\sum\n"                                                                                        \
    "strb   \\sum, [r8], #1\n"                                                                                         \
    ".endr\n"                                                                                                          \
    "adds   r3, #4\n"                                                                                                  \
    "ldr    r9, [sp, #12]\n"                                                                                           \
    "strd   r3, r8, [sp, #16]\n"                                                                                       \
    "subs   r9, #1\n"                                                                                                  \
    "str    r9, [sp, #12]\n"                                                                                           \
    "bne    1b\n"                                                                                                      \
    "b      4f\n"                                                                                                      \
    "3:\n"                                                                                                             \
    "ldr    r8, [sp, #28]\n"                                                                                           \
    "stm    r8, {r4-r7}\n"                                                                                             \
    "4:\n"                                                                                                             \
    "mov    r0, r1\n"                                                                                                  \
    "add    sp, #36\n"                                                                                                 \
    "pop    {r4-r11, pc}\n"                                                                                            \
    NNACL_FUNCTION_END(name)

#define LOW_INPUTS "sxtb16 r11, r8\n" "sxtb16 r8, r8, ror #8\n"
#define HIGH_INPUTS "and    r11, r12, r8, lsl #8\n" "and    r8, r12, r8\n"
#define S8_WEIGHTS "ldr r9, [r1], #4\n" "sxtb16 r10, r9\n" "sxtb16 r9, r9, ror #8\n"

__asm__(TAPS_FUNCTION("nnacl_taps_s8_dsp", S8_WEIGHTS, LOW_INPUTS, ""));
__asm__(TAPS_FUNCTION("nnacl_taps_s16_dsp", "ldrd r10, r9, [r1], #8\n", LOW_INPUTS, ""));
__asm__(TAPS_FUNCTION("nnacl_taps_high_s8_dsp", S8_WEIGHTS, HIGH_INPUTS, "mov    r12, #0xff00ff00\n"));
/* clang-format on */
