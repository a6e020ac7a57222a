/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of integers over the positions of a window, for neighbouring channels: averages and means. */
#ifndef NNACL_TAP_SUMS_H
#define NNACL_TAP_SUMS_H

#include "nnacl_base.h"

/* Positions: `rows` times `columns` (either may be 0) from `x` on, with the bytes from one to the next. The sources in
 * assembly know the order and size of these fields. */
typedef struct nnacl_taps {
    const int8_t *x;
    ptrdiff_t row_step, column_step;
    int32_t rows, columns;
} nnacl_taps;

/* Channels that are summed at a time, at most. */
#define NNACL_TAP_LANES 16
/* The same of s16. */
#define NNACL_TAP_HALVES 8

/* Bytes whose sum has 16 bits. */
#define NNACL_TAPS_IN_WORDS 256

/* Writes the sums of `lanes` channels (at least 1) from `channel` on. */
typedef void (*nnacl_sum_taps)(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t sums[NNACL_TAP_LANES]);

#endif
