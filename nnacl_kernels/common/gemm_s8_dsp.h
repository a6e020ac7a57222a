/* SPDX-License-Identifier: Apache-2.0 */
/* The inner part of the integer convolutions on cores with the DSP extension (Cortex-M4, M7, M33): positions, widened
 * to 16 bits, times weights. Written in assembly because compilers spill the accumulators.
 *
 * The depth runs in units of two elements. A panel holds for each unit one word for each position, with the first
 * element in its lower half. The weights stand in pairs of output channels a and b; for each pair, as gemm_pack.h
 * writes it:
 *
 *     for each unit the bytes (a0, b0, a1, b1): SXTB16 makes (a0, a1) and, rotated, (b0, b1) of them
 *
 * and beside them for each pair as int32 the start of a and of b, multiplier and offset of a, multiplier and offset of
 * b.
 */
#ifndef NNACL_GEMM_S8_DSP_H
#define NNACL_GEMM_S8_DSP_H

#include "nnacl_base.h"

/* Words of the lines of a pair. */
#define NNACL_PAIR_LINES_DSP 6

/* The sources in assembly know the order and size of these fields. */
typedef struct nnacl_gemm_dsp {
    const uint32_t *panel;
    int32_t units;        /* at least 1 */
    const void *weights;  /* of the first pair */
    int32_t pairs;        /* at least 1 */
    int8_t *y;            /* channel a of the first pair, first position */
    int32_t stride;       /* bytes from a position to the next in y */
    int32_t shift;        /* of the lines (requant_line.h): 12, 4 or 1; 0: `sums` is wanted, for one pair */
    int32_t *sums;        /* start + the sum of the products: for each position of a, then of b */
    const int32_t *lines; /* of the first pair */
} nnacl_gemm_dsp;

/* Four positions. Writes y, or sums. Returns where the next pair begins. */
const void *nnacl_gemm4_s8_dsp(const nnacl_gemm_dsp *gemm);
/* One position. */
const void *nnacl_gemm1_s8_dsp(const nnacl_gemm_dsp *gemm);

/* Makes the units of a run of `length` bytes (runs.h), in panels of four positions and of one. Returns where the panel
 * goes on. */
uint32_t *nnacl_widen4_s8_dsp(uint32_t *panel, const int8_t *const x[4], int32_t length);
uint32_t *nnacl_widen1_s8_dsp(uint32_t *panel, const int8_t *x, int32_t length);

/* The same with elements times 256, for compact lines (compact_lines.h); length at most NNACL_MOST_HIGH_DSP. */
#define NNACL_MOST_HIGH_DSP 1023
uint32_t *nnacl_widen4_high_s8_dsp(uint32_t *panel, const int8_t *const x[4], int32_t length);
uint32_t *nnacl_widen1_high_s8_dsp(uint32_t *panel, const int8_t *x, int32_t length);

#endif
