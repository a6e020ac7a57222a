/* SPDX-License-Identifier: Apache-2.0 */
/* The inner part of the integer convolutions on cores with MVE (Cortex-M55, M85): two positions times four output
 * channels at a time, 16 elements of the depth at once. Written in assembly, as eight sums and their pointers take all
 * registers that VMLADAVA can use.
 *
 * The depth is cut into runs of neighbours (runs.h), and each run into chunks of 16. The weights stand in groups of
 * four output channels, as gemm_pack.h writes them:
 *
 *     int32 start of each
 *     for each chunk of each run 16 bytes of each channel, the last chunk of a run filled up with zeros
 *     int32 multiplier of each, offset of each
 */
#ifndef NNACL_GEMM_S8_MVE_H
#define NNACL_GEMM_S8_MVE_H

#include "nnacl_base.h"

/* The sources in assembly know the order and size of these fields. */
typedef struct nnacl_gemm_mve {
    const int8_t **runs; /* for each run where it begins at the one position and at the other */
    const int8_t **runs_end;
    int32_t chunks;      /* whole chunks of a run */
    int32_t rest;        /* bytes behind them */
    const void *weights; /* of the first group */
    int32_t channels;    /* output channels, at least 1 */
    int8_t *y[2];        /* the first channel at each position; both may be one */
    int32_t shift;       /* minus the shift of the lines (requant_line.h); 0: `sums` is wanted, of one group */
    int32_t *sums;       /* start + the sum of the products: four of the one position, four of the other */
    int32_t zero[2];     /* what a zero point of the weights adds at each position */
} nnacl_gemm_mve;

/* With what gemm_packed_mve.h reads beside. */
typedef struct nnacl_gemm_packed_mve {
    nnacl_gemm_mve gemm; /* zero: what the offset of the codes adds at each position */
    int32_t last[2];     /* the same for the last channel of a byte */
} nnacl_gemm_packed_mve;

/* Writes y, or sums. Returns where the next group begins. */
const void *nnacl_gemm2_s8_mve(const nnacl_gemm_mve *gemm);
/* With `zero`, which the other does not read. */
const void *nnacl_gemm2_zero_s8_mve(const nnacl_gemm_mve *gemm);

/* Four output channels at a time, of one position with one run: dense. */
const void *nnacl_gemm1_s8_mve(const nnacl_gemm_mve *gemm);
const void *nnacl_gemm1_zero_s8_mve(const nnacl_gemm_mve *gemm);

/* The sum of the elements of one position, 0 or 1. */
int32_t nnacl_sum_runs_s8_mve(const nnacl_gemm_mve *gemm, int32_t position);

/* Copies `rows` (at least 1) rows of `count` bytes, which begin `to_step` and `from_step` bytes apart. */
void nnacl_copy_rows_mve(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t count,
                         int32_t rows);

#endif
