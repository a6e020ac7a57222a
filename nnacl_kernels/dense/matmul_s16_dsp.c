/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "dense/matmul_pairs_s16.h"

NNACL_DECLARE(nnacl_matmul_s16_dsp);

static inline uint32_t load(const int16_t *x) {
    uint32_t word;
    memcpy(&word, x, sizeof word);
    return word;
}

/* Adds to `sum` the products of both halves, or of one half of `a` and one of `b`, b the bottom and t the top. */
#define MULTIPLY(instruction, sum, a, b) __asm__(instruction " %Q0, %R0, %1, %2" : "+r"(sum) : "r"(a), "r"(b))

/* Columns whose elements are neighbours. */
static inline void multiply_runs(const nnacl_matmul_pair_s16 *m) {
    const int16_t *a = m->a, *b = m->b, *c = b + m->column_step / 2, *end = a + (m->length & ~1);
    int64_t first = m->sums[0], second = m->sums[1];
#pragma GCC unroll 2
    for (; a < end; a += 2, b += 2, c += 2) {
        const uint32_t pair = load(a);
        MULTIPLY("smlald", first, pair, load(b));
        MULTIPLY("smlald", second, pair, load(c));
    }
    if (m->length % 2) {
        first += *a * *b;
        second += *a * *c;
    }
    m->sums[0] = first;
    m->sums[1] = second;
}

/* Two columns that are neighbours. */
static inline void multiply_steps(const nnacl_matmul_pair_s16 *m) {
    const int16_t *a = m->a, *b = m->b, *end = a + (m->length & ~1);
    const int32_t step = m->step;
    int64_t first = m->sums[0], second = m->sums[1];
    for (; a < end; a += 2, b += 2 * step) {
        const uint32_t pair = load(a), upper = load(b), lower = load(b + step);
        MULTIPLY("smlalbb", first, pair, upper);
        MULTIPLY("smlalbt", second, pair, upper);
        MULTIPLY("smlaltb", first, pair, lower);
        MULTIPLY("smlaltt", second, pair, lower);
    }
    if (m->length % 2) {
        first += *a * b[0];
        second += *a * b[1];
    }
    m->sums[0] = first;
    m->sums[1] = second;
}

static void multiply_column(const nnacl_matmul_pair_s16 *m) {
    const int16_t *b = m->b;
    for (int32_t l = 0; l < m->length; l++, b += m->step) {
        m->sums[0] += m->a[l] * *b;
    }
}

static inline void multiply(const nnacl_matmul_pair_s16 *m) {
    if (m->step == 1) {
        multiply_runs(m);
    } else if (m->column_step == 0) {
        multiply_column(m);
    } else {
        multiply_steps(m);
    }
}

void nnacl_matmul_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    nnacl_matmul_pairs_s16(ctx, params, in, out, 1, multiply);
}
