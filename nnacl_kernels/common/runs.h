/* SPDX-License-Identifier: Apache-2.0 */
/* How the depth of a convolution is cut into runs of neighbours in memory, and runs into the units of the kernels for
 * 16-bit dual multiply-accumulates. Of four elements the units are (0, 2) and (1, 3), which one SXTB16 each makes of a
 * word; of a rest of one, two or three they are (0, -), (0, 1), or (0, 2) and (1, -). */
#ifndef NNACL_RUNS_H
#define NNACL_RUNS_H

#include "nnacl_base.h"

typedef struct nnacl_runs {
    int32_t count, length;
} nnacl_runs;

static inline int32_t nnacl_run_units(int32_t length) {
    return length / 4 * 2 + (length % 4 + 1) / 2;
}

/* Units of all runs. */
static inline int32_t nnacl_runs_units(nnacl_runs runs) {
    return runs.count * nnacl_run_units(runs.length);
}

/* The elements of unit `unit` of a run; the second may be -1: none. */
static inline void nnacl_run_unit(int32_t length, int32_t unit, int32_t elements[2]) {
    const int32_t first = unit / 2 * 4, odd = unit % 2, rest = length - first;
    elements[0] = first + odd;
    elements[1] = rest == 2 ? first + 1 : rest > 2 + odd ? first + odd + 2 : -1;
}

/* A zero point of the weights takes further units at the end: with it as their weights, and as elements minus the sums
 * of the elements of NNACL_ZERO_SPAN units each, so that they fit 16 bits. */
#define NNACL_ZERO_SPAN 127

static inline int32_t nnacl_zero_units(int32_t w_zero, nnacl_runs runs) {
    const int32_t sums = (nnacl_runs_units(runs) + NNACL_ZERO_SPAN - 1) / NNACL_ZERO_SPAN;
    return w_zero ? (sums + 1) / 2 : 0;
}

#endif
