/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and means of s8 over the middle of three dimensions, or the first of two (nnacl_reduce_accepts_columns()). */
#ifndef NNACL_REDUCE_COLUMNS_S8_H
#define NNACL_REDUCE_COLUMNS_S8_H

#include "common/tap_sums.h"
#include "reduce/reduce_quantized.h"

/* Makes `lanes` elements of y from sums of `count` values. */
typedef void (*nnacl_reduce_end_s8)(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count,
                                    int8_t *y);

static inline void nnacl_reduce_end_s8_each(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count,
                                            int8_t *y) {
    for (int32_t i = 0; i < lanes; i++) {
        y[i] = (int8_t)nnacl_reduce_finish(sums[i], count, p);
    }
}

/* `width` is the most that `sum` can take. */
static inline void nnacl_reduce_columns_s8(const nnacl_ctx *ctx, const nnacl_reduce_params *p, const int8_t *x,
                                           int8_t *y, int32_t width, nnacl_sum_taps sum, nnacl_reduce_end_s8 end) {
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, lanes = most < width ? most : width;
        const nnacl_taps taps = {
            .x = x + (ptrdiff_t)outer * count * inner,
            .row_step = 0,
            .column_step = inner,
            .rows = 1,
            .columns = count,
        };
        int32_t sums[NNACL_TAP_LANES];
        sum(&taps, channel, lanes, sums);
        end(p, sums, lanes, count, y + output);
        output += lanes;
    }
}

#endif
