/* SPDX-License-Identifier: Apache-2.0 */
/* The inner parts of depthwise_conv2d for the DSP extension. */
#ifndef NNACL_DEPTHWISE_3X3_DSP_H
#define NNACL_DEPTHWISE_3X3_DSP_H

#include "conv/depthwise_walk.h"

/* 3 x 3 taps, whose windows are one apart, or two. In the ring a pair along the sweep has a word of each of the three
 * rows; the weights of a row are (w0, w1), (w1, w2). The shift of the lines is 12, 4 or 1. */
void nnacl_depthwise_3x3_stride1_dsp(const nnacl_sweep_row *row);
void nnacl_depthwise_3x3_stride2_dsp(const nnacl_sweep_row *row);

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
