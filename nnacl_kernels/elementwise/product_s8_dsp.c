/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>

#include "elementwise/binary_rows_s8.h"
#include "elementwise/product_lines.h"

NNACL_DECLARE(nnacl_mul_s8_dsp);
NNACL_DECLARE(nnacl_prelu_s8_dsp);

/* The ways to round. */
#define AWAY 0
#define UP 1
#define SINGLE 2

/* value * mult / 2^31, halves up, of a mult of at least 2^30. */
static inline int32_t mul_high(int32_t value, int32_t mult) {
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(value), "r"((uint32_t)mult << 1));
    return high;
}

/* value * mult / 2^32, down. */
static inline int32_t mul_higher(int32_t value, int32_t mult) {
    int32_t high;
    __asm__("smmul %0, %1, %2" : "=r"(high) : "r"(value), "r"(mult));
    return high;
}

static inline uint32_t finish(int32_t value, const nnacl_product_line *line, const int32_t way) {
    int32_t high = way == SINGLE ? mul_higher(value, line->mult) : mul_high(value, line->mult);
    high += way == AWAY ? high >> 31 : 0;
    return (uint32_t)__ssat((high + line->offset) >> line->right, 8);
}

static inline int16x2_t minus(int16x2_t a, int32_t zero) {
    return __ssub16(a, (int16x2_t)((uint32_t)zero << 16 | ((uint32_t)zero & 0xffffu)));
}

static inline int32_t low(int16x2_t pair) {
    return (int16_t)((uint32_t)pair & 0xffffu);
}

static inline int32_t high(int16x2_t pair) {
    return (int32_t)pair >> 16;
}

static inline uint32_t load(const int8_t *x) {
    uint32_t word;
    memcpy(&word, x, sizeof word);
    return word;
}

static inline void multiply(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const nnacl_product_lines *k,
                            const int32_t way) {
    const int32_t a_zero = k->a_zero, b_zero = k->b_zero;
    const nnacl_product_line line = k->product;
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint32_t left = load(a + i), right = load(b + i);
        const int16x2_t a_even = minus(__sxtb16((int8x4_t)left), a_zero);
        const int16x2_t a_odd = minus(__sxtb16((int8x4_t)(left >> 8 | left << 24)), a_zero);
        const int16x2_t b_even = minus(__sxtb16((int8x4_t)right), b_zero);
        const int16x2_t b_odd = minus(__sxtb16((int8x4_t)(right >> 8 | right << 24)), b_zero);
        y[i] = (int8_t)finish(low(a_even) * low(b_even), &line, way);
        y[i + 1] = (int8_t)finish(low(a_odd) * low(b_odd), &line, way);
        y[i + 2] = (int8_t)finish(high(a_even) * high(b_even), &line, way);
        y[i + 3] = (int8_t)finish(high(a_odd) * high(b_odd), &line, way);
    }
    for (; i < count; i++) {
        y[i] = (int8_t)finish((a[i] - a_zero) * (b[i] - b_zero), &line, way);
    }
}

static void row_away(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {
    multiply(a, b, y, count, constants, AWAY);
}

static void row_up(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {
    multiply(a, b, y, count, constants, UP);
}

static void row_single(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {
    multiply(a, b, y, count, constants, SINGLE);
}

void nnacl_mul_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    const nnacl_product_lines k = nnacl_product_lines_of(p);
    if (NNACL_ROUNDS(p->rounding, NNACL_ROUND_SINGLE)) {
        nnacl_binary_rows_s8(ctx, p, in, out, row_single, &k);
    } else if (nnacl_product_is_away(p->rounding)) {
        nnacl_binary_rows_s8(ctx, p, in, out, row_away, &k);
    } else {
        nnacl_binary_rows_s8(ctx, p, in, out, row_up, &k);
    }
}

static inline void bend(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const nnacl_product_lines *k,
                        const int32_t way) {
    const int32_t a_zero = k->a_zero, b_zero = k->b_zero;
    const nnacl_product_line product = k->product, positive = k->positive;
    for (int32_t i = 0; i < count; i++) {
        const int32_t value = a[i] - a_zero;
        y[i] = (int8_t)(value > 0 ? finish(value << positive.left, &positive, UP)
                                  : finish(value * (b[i] - b_zero), &product, way));
    }
}

static void bend_away(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {
    bend(a, b, y, count, constants, AWAY);
}

static void bend_up(const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const void *constants) {
    bend(a, b, y, count, constants, UP);
}

void nnacl_prelu_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    const nnacl_product_lines k = nnacl_product_lines_of(p);
    nnacl_binary_rows_s8(ctx, p, in, out, nnacl_product_is_away(p->rounding) ? bend_away : bend_up, &k);
}
