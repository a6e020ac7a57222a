/* SPDX-License-Identifier: Apache-2.0 */
/* The inner parts of depthwise_conv2d for the DSP extension. */
#ifndef NNACL_DEPTHWISE_3X3_DSP_H
#define NNACL_DEPTHWISE_3X3_DSP_H

#include "conv/depthwise_walk.h"

/* One row of outputs with 3 x 3 taps. The sources in assembly know the order and size of these fields. */
typedef struct nnacl_depthwise_3x3_dsp {
    const uint32_t *x;       /* for each pair along the sweep a word of each of the three rows */
    int32_t x_step;          /* all steps are from channel to channel, in bytes */
    const uint32_t *weights; /* for each of the rows (w0, w1), (w1, w2) */
    int32_t weights_step;
    const int32_t *lines; /* start, multiplier, offset */
    int32_t lines_step;
    int8_t *y;
    int32_t y_step;
    int32_t channels;
    int32_t count;  /* outputs along the sweep, at least 1 */
    int32_t stride; /* bytes from one to the next */
    int32_t shift;  /* of the lines: 12, 4 or 1; 0: `sums` is wanted, of one channel and at most four outputs */
    int32_t *sums;  /* room for four */
} nnacl_depthwise_3x3_dsp;

/* The windows are one apart, or two. */
void nnacl_depthwise_3x3_stride1_dsp(const nnacl_depthwise_3x3_dsp *row);
void nnacl_depthwise_3x3_stride2_dsp(const nnacl_depthwise_3x3_dsp *row);

/* Makes words of two neighbours along the sweep for four channels: channel i of pair j goes to to[i * plane + j * step]
 * (in bytes). `x` is the first position, the next is x_step bytes further. */
void nnacl_widen_pairs_dsp(const int8_t *x, int32_t x_step, void *to, int32_t plane, int32_t step, int32_t pairs);

/* Any taps, four channels at a time. The weights stand in groups of four output channels:
 *
 *     for each tap a byte of each, or 16 bits of each in the order 0, 2, 1, 3
 *
 * and beside them for each group as int32 the start of each, then multiplier and offset of each.
 */
#define NNACL_TAPS_LINES_DSP 12 /* words of the lines of a group */

/* Writes y, or sums. Returns where the next group begins. */
const int32_t *nnacl_taps_s8_dsp(const nnacl_taps *position);
const int32_t *nnacl_taps_s16_dsp(const nnacl_taps *position);
/* With compact lines (compact_lines.h). */
const int32_t *nnacl_taps_high_s8_dsp(const nnacl_taps *position);

#endif
