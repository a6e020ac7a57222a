/* SPDX-License-Identifier: Apache-2.0 */
/* The inner parts of depthwise_conv2d for MVE. */
#ifndef NNACL_DEPTHWISE_3X3_MVE_H
#define NNACL_DEPTHWISE_3X3_MVE_H

#include "conv/depthwise_walk.h"

/* 3 x 3 taps, whose windows are one apart, or two. In the ring a position along the sweep has a byte of each of the
 * three rows, so that the window of an output is nine bytes in a row, which one VMLADAVA multiplies with the weights:
 * 16 bytes, the last seven 0. 15 bytes behind the last position can be read. */
void nnacl_depthwise_3x3_stride1_mve(const nnacl_sweep_row *row);
void nnacl_depthwise_3x3_stride2_mve(const nnacl_sweep_row *row);

/* Makes the weights of output channels (at least 1) for each of the three slots that the first row of a window can be
 * in: 3 vectors of 16 bytes of 9 taps. */
void nnacl_unpack_3x3_mve(const int8_t *taps, int8_t *weights, int32_t channels);

/* Strews `positions` (at least 1) times up to eight channels: channel i of position j goes from x[i + j * x_step] to
 * to[i * plane + j * 3]. With x_step 0 all are the same. 7 * plane is less than 2^16. */
void nnacl_strew_mve(const int8_t *x, int32_t x_step, int8_t *to, int32_t plane, int32_t channels, int32_t positions);

/* Any taps, eight channels at a time. The weights stand in groups of eight output channels; the even ones of them and
 * the odd ones are kept apart:
 *
 *     int32 start of the even, of the odd
 *     for each tap eight bytes, or eight times 16 bits
 *     int32 multiplier of the even, of the odd, offset of the even, of the odd
 */
#define NNACL_TAPS_WORDS_MVE 24 /* of a group beside its weights */

/* Writes y, or sums: even channels, then odd ones. Returns where the next group begins. */
const int32_t *nnacl_taps_s8_mve(const nnacl_taps *position);
const int32_t *nnacl_taps_s16_mve(const nnacl_taps *position);

#endif
