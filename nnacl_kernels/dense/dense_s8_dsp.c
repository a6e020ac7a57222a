/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_acle.h>

#include "common/dot_s8_dsp.h"
#include "common/finish_s8.h"
#include "common/requant.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s8_dsp);

/* Adds the last one, two or three elements of the depth. */
static void add_rest(const int8_t *x, int32_t rest, const int8_t *weights, int32_t sums[4]) {
    for (int32_t unit = 0; unit < 4; unit++) {
        for (int32_t i = 0; i < rest; i++) {
            sums[unit] += x[i] * weights[unit * 4 + i];
        }
    }
}

static int32_t sum_of(const int8_t *x, int32_t count) {
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum;
}

static void finish(const nnacl_dense_params *p, const int32_t *line, int32_t shift, int32_t unit, int32_t count,
                   const int32_t sums[4], int8_t *y) {
    for (int32_t i = 0; i < count; i++, line += 2) {
        if (!NNACL_NEEDS_EXACT || (shift && line[0] >= 0)) {
            int32_t sum;
            __asm__("smmla %0, %1, %2, %3" : "=r"(sum) : "r"(sums[i]), "r"(line[0]), "r"(line[1]));
            y[i] = (int8_t)__ssat(sum >> shift, 8);
        } else {
            y[i] = nnacl_finish_exact(sums[i], line, nnacl_channel_rounding(p->rounding, p->units, unit + i), p->y_zero,
                                      p->q_min, p->q_max);
        }
    }
}

void nnacl_dense_s8_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const int8_t *x = in[0];
    const int32_t *packed = in[1];
    int8_t *y = out[0];
    const int32_t shift = NNACL_SHIFT_OF(packed[0]), quads = p->depth / 4, rest = p->depth % 4;
    const int32_t group_words = (quads + (rest > 0)) * 4 + NNACL_GROUP_WORDS_DSP;

    const nnacl_range groups = nnacl_share(ctx, (p->units + 3) / 4);
    for (int32_t row = 0; row < p->rows; row++, x += p->depth, y += p->units) {
        const int32_t *group = packed + 1 + (ptrdiff_t)groups.begin * group_words;
        const int32_t less = NNACL_NEEDS_W_ZERO && p->w_zero ? p->w_zero * sum_of(x, p->depth) : 0;
        for (int32_t unit = groups.begin * 4; unit < groups.end * 4; unit += 4) {
            const int32_t count = p->units - unit < 4 ? p->units - unit : 4;
            int32_t sums[4];
            const int32_t *next = nnacl_dot4_s8_dsp(x, group, quads, sums);
            if (rest) {
                add_rest(x + quads * 4, rest, (const int8_t *)next, sums);
            }
            for (int32_t i = 0; NNACL_NEEDS_W_ZERO && i < 4; i++) {
                sums[i] -= less;
            }
            group += group_words;
            finish(p, group - 8, shift, unit, count, sums, y + unit);
            nnacl_clamp_bytes(y + unit, count, p->q_min, p->q_max);
        }
    }
}
