/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and means of s8 or s16 over the middle of three dimensions or the first of two: nnacl_reduce_accepts_columns().
 */
#ifndef NNACL_REDUCE_COLUMNS_H
#define NNACL_REDUCE_COLUMNS_H

#include "common/tap_sums.h"
#include "reduce/reduce_quantized.h"

/* Makes `lanes` elements of y from sums of `count` values. */
typedef void (*nnacl_reduce_end)(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count, void *y);

static inline void nnacl_reduce_end_s8(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count,
                                       void *y) {
    for (int32_t i = 0; i < lanes; i++) {
        ((int8_t *)y)[i] = (int8_t)nnacl_reduce_finish(sums[i], count, p);
    }
}

static inline void nnacl_reduce_end_s16(const nnacl_reduce_params *p, int32_t *sums, int32_t lanes, int32_t count,
                                        void *y) {
    for (int32_t i = 0; i < lanes; i++) {
        ((int16_t *)y)[i] = (int16_t)nnacl_reduce_finish(sums[i], count, p);
    }
}

/* Of elements of `size` bytes. `width` is the most that `sum` can take. */
static inline void nnacl_reduce_columns(const nnacl_ctx *ctx, const nnacl_reduce_params *p, int32_t size, const void *x,
                                        void *y, int32_t width, nnacl_sum_taps sum, nnacl_reduce_end end) {
    const int32_t inner = p->dims[p->rank - 1], count = p->dims[p->rank - 2];
    const nnacl_range share = nnacl_share(ctx, (p->rank == 3 ? p->dims[0] : 1) * inner);
    for (int32_t output = share.begin; output < share.end;) {
        const int32_t outer = output / inner, channel = output - outer * inner;
        const int32_t in_row = inner - channel, left = share.end - output;
        const int32_t most = in_row < left ? in_row : left, lanes = most < width ? most : width;
        const nnacl_taps taps = {
            .x = (const int8_t *)x + (ptrdiff_t)outer * count * inner * size,
            .row_step = 0,
            .column_step = (ptrdiff_t)inner * size,
            .rows = 1,
            .columns = count,
        };
        int32_t sums[NNACL_TAP_LANES];
        sum(&taps, channel, lanes, sums);
        end(p, sums, lanes, count, (int8_t *)y + (ptrdiff_t)output * size);
        output += lanes;
    }
}

#endif
