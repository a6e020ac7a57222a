/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s16_dsp.h"

#include <arm_acle.h>
#include <string.h>

#include "common/assembly.h"

/* clang-format off */
/* Four elements of the depth. r0 x, r1 weights, r4-r7 sums. */
#define QUAD                                                                                                           \
    "ldrd   r8, r9, [r0], #8\n"                                                                                        \
    "ldm    r1!, {r2, r3, r10, r11}\n"                                                                                 \
    ROW("r4", "r2") ROW("r5", "r3") ROW("r6", "r10") ROW("r7", "r11")
#define ROW(sum, w)                                                                                                    \
    "sxtb16 r12, " w "\n"                                                                                              \
    "sxtb16 " w ", " w ", ror #8\n"                                                                                    \
    "smlad  " sum ", r12, r8, " sum "\n"                                                                               \
    "smlad  " sum ", " w ", r9, " sum "\n"

/* r2 quads, r3 where the sums are; an odd quad comes first. */
__asm__(NNACL_FUNCTION("nnacl_quads4_s16_dsp")
    "push   {r3-r11, lr}\n"
    "ldm    r3, {r4-r7}\n"
    "adds   lr, r2, #1\n"
    "lsrs   lr, lr, #1\n"
    "lsls   r2, r2, #31\n"
    "bne    2f\n"
    "1:\n"
    QUAD
    "2:\n"
    QUAD
    "subs   lr, #1\n"
    "bne    1b\n"
    "ldr    r3, [sp]\n"
    "stm    r3, {r4-r7}\n"
    "pop    {r3-r11, pc}\n"
    NNACL_FUNCTION_END("nnacl_quads4_s16_dsp"));
/* clang-format on */

void nnacl_widen_s8_dsp(const int8_t *x, int32_t count, int16_t *wide) {
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, x + i, sizeof word);
        const uint32_t even = (uint32_t)__sxtb16((int8x4_t)word);
        const uint32_t odd = (uint32_t)__sxtb16((int8x4_t)(word >> 8 | word << 24));
        const uint32_t pairs[2] = {(even & 0xffff) | odd << 16, even >> 16 | (odd & 0xffff0000)};
        memcpy(wide + i, pairs, sizeof pairs);
    }
    for (; i < count; i++) {
        wide[i] = x[i];
    }
}
