/* SPDX-License-Identifier: Apache-2.0 */
#include "common/finish_s16_dsp.h"
#include "common/multiply_s16_dsp.h"
#include "common/pairs_s16.h"
#include "common/share.h"
#include "dense/dense.h"

NNACL_DECLARE(nnacl_dense_s16_dsp);

/* One pair of units and one or two rows. `m` has everything but sums. */
static void run(const nnacl_dense_params *p, nnacl_multiply_s16_dsp *m, const nnacl_ends_s16 *ends, int32_t unit,
                int32_t count, int16_t *y) {
    int64_t sums[4];
    const int8_t *last = m->weights + 4 * m->units;
    for (int32_t i = 0; i < 2 * count; i++) {
        sums[i] = nnacl_bias_s16_dsp(ends, unit + i % 2);
        if (p->depth % 2) {
            sums[i] += (i < 2 ? m->x : m->second)[p->depth - 1] * last[i % 2];
        }
    }
    nnacl_multiply_s16_dsp rows = *m;
    rows.sums = sums;
    if (count == 2) {
        nnacl_multiply2x2_s16_dsp(&rows);
    } else {
        nnacl_multiply2x1_s16_dsp(&rows);
    }
    for (int32_t i = 0; i < 2 * count; i++) {
        const int32_t channel = unit + i % 2;
        y[i / 2 * p->units + channel] =
            nnacl_finish_s16_dsp(ends, nnacl_factor_s16_dsp(ends, channel), sums[i], channel);
    }
}

void nnacl_dense_s16_dsp(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_dense_params *p = params;
    const ptrdiff_t pair_size = 4 * nnacl_pair_units(p->depth);
    const nnacl_ends_s16 ends = {in[2], in[3], p->has_bias, p->units, p->rounding, p->y_zero, p->q_min, p->q_max};

    const nnacl_range pairs = nnacl_share(ctx, nnacl_pair_units(p->units));
    for (int32_t row = 0, count; row < p->rows; row += count) {
        count = row + 1 < p->rows ? 2 : 1;
        nnacl_multiply_s16_dsp m = {.units = p->depth / 2, .runs = 1};
        m.x = (const int16_t *)in[0] + (ptrdiff_t)row * p->depth;
        m.second = m.x + p->depth;
        for (int32_t pair = pairs.begin; pair < pairs.end; pair++) {
            m.weights = (const int8_t *)in[1] + pair * pair_size;
            run(p, &m, &ends, nnacl_pair_channel(p->units, pair), count, (int16_t *)out[0] + (ptrdiff_t)row * p->units);
        }
    }
}
