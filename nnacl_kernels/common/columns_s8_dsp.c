/* SPDX-License-Identifier: Apache-2.0 */
#include "common/columns_s8_dsp.h"

#include <arm_acle.h>
#include <string.h>

/* The bytes 1 and 3 as numbers of 16 bits. */
static inline int32_t odd_bytes(uint32_t word) {
    int32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}

static inline void four(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride, int32_t *sums) {
    int32_t sum_0 = sums[0], sum_1 = sums[1], sum_2 = sums[2], sum_3 = sums[3];
#pragma GCC unroll 2
    for (int32_t i = 0; i < rows; i++, w += stride) {
        uint32_t word;
        memcpy(&word, w, sizeof word);
        const int32_t a = x[i] - zero, even = (int32_t)__sxtb16((int8x4_t)word), odd = odd_bytes(word);
        sum_0 = __smlabb(even, a, sum_0);
        sum_1 = __smlabb(odd, a, sum_1);
        sum_2 = __smlatb(even, a, sum_2);
        sum_3 = __smlatb(odd, a, sum_3);
    }
    sums[0] = sum_0;
    sums[1] = sum_1;
    sums[2] = sum_2;
    sums[3] = sum_3;
}

void nnacl_columns_s8_dsp(const int8_t *x, int32_t zero, int32_t rows, const int8_t *w, int32_t stride, int32_t columns,
                          int32_t *sums) {
    for (; columns >= 4; columns -= 4, w += 4, sums += 4) {
        four(x, zero, rows, w, stride, sums);
    }
    for (int32_t j = 0; j < columns; j++) {
        for (int32_t i = 0; i < rows; i++) {
            sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)((x[i] - zero) * w[(ptrdiff_t)i * stride + j]));
        }
    }
}
