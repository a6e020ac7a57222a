/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rows_s8_dsp.h"

#include <arm_acle.h>
#include <string.h>

#include "common/assembly.h"

/* clang-format off */
/* Four elements of a row: r8 and r12 those of the vector, r9 weights. */
#define ROW(sum)                                                                                                       \
    "sxtb16 r10, r9\n"                                                                                                 \
    "sxtb16 r9, r9, ror #8\n"                                                                                          \
    "smlad  " sum ", r8, r10, " sum "\n"                                                                               \
    "smlad  " sum ", r12, r9, " sum "\n"

/* r0 the vector, r1 the first row, r2 from a row to the next, r3 three times that, r4-r7 sums, lr fours left. */
__asm__(NNACL_FUNCTION("nnacl_quads4_s8_dsp")
    "push   {r4-r10, lr}\n"
    "ldr    r12, [sp, #32]\n"
    "mov    lr, r3\n"
    "ldm    r12, {r4-r7}\n"
    "add    r3, r2, r2, lsl #1\n"
    "1:\n"
    "ldrd   r8, r12, [r0], #8\n"
    "ldr    r9, [r1, r2]\n" ROW("r5")
    "ldr    r9, [r1, r2, lsl #1]\n" ROW("r6")
    "ldr    r9, [r1, r3]\n" ROW("r7")
    "ldr    r9, [r1], #4\n" ROW("r4")
    "subs   lr, #1\n"
    "bne    1b\n"
    "ldr    r12, [sp, #32]\n"
    "stm    r12, {r4-r7}\n"
    "pop    {r4-r10, pc}\n"
    NNACL_FUNCTION_END("nnacl_quads4_s8_dsp"));
/* clang-format on */

void nnacl_quads4_s8_dsp(const uint32_t *widened, const int8_t *w, int32_t stride, int32_t quads, int32_t sums[4]);

static uint32_t load(const int8_t *x) {
    uint32_t word;
    memcpy(&word, x, sizeof word);
    return word;
}

void nnacl_widen_row_s8_dsp(uint32_t *widened, const int8_t *x, int32_t count, int32_t zero) {
    const int16x2_t zeros = (int16x2_t)((uint32_t)(uint16_t)zero * 0x10001u);
    for (int32_t i = 0; i + 4 <= count; i += 4) {
        const uint32_t word = load(x + i);
        *widened++ = (uint32_t)__ssub16(__sxtb16((int8x4_t)word), zeros);
        *widened++ = (uint32_t)__ssub16(__sxtb16((int8x4_t)(word >> 8 | word << 24)), zeros);
    }
}

void nnacl_rows4_s8_dsp(const uint32_t *widened, const int8_t *x, int32_t zero, int32_t count, const int8_t *w,
                        int32_t stride, int32_t sums[4]) {
    const int32_t whole = count / 4 * 4;
    if (whole) {
        nnacl_quads4_s8_dsp(widened, w, stride, whole / 4, sums);
    }
    for (int32_t i = whole; i < count; i++) {
        for (int32_t row = 0; row < 4; row++) {
            sums[row] += (x[i] - zero) * w[(ptrdiff_t)row * stride + i];
        }
    }
}

int32_t nnacl_row_s8_dsp(const uint32_t *widened, const int8_t *x, int32_t zero, int32_t count, const int8_t *w) {
    int32_t sum = 0, i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint32_t word = load(w + i);
        sum = __smlad((int16x2_t)*widened++, __sxtb16((int8x4_t)word), sum);
        sum = __smlad((int16x2_t)*widened++, __sxtb16((int8x4_t)(word >> 8 | word << 24)), sum);
    }
    for (; i < count; i++) {
        sum += (x[i] - zero) * w[i];
    }
    return sum;
}

int32_t nnacl_move_s16_dsp(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count) {
    int32_t sum = 0, i = 0;
    for (; i + 2 <= count; i += 2) {
        uint32_t values, factors;
        memcpy(&values, from + i, sizeof values);
        memcpy(&factors, weights + i, sizeof factors);
        memcpy(to + i, &values, sizeof values);
        sum = __smlad((int16x2_t)values, (int16x2_t)factors, sum);
    }
    if (i < count) {
        to[i] = from[i];
        sum = __smlad(to[i] & 0xffff, weights[i], sum);
    }
    return sum;
}
