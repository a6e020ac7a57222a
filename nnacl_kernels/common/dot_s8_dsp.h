/* SPDX-License-Identifier: Apache-2.0 */
/* Four sums of products at a time, of bytes, for dense and for depthwise_conv2d. The weights stand in groups of four
 * output channels:
 *
 *     int32 start of each
 *     words of weights, see below
 *     int32 multiplier and offset of each
 */
#ifndef NNACL_DOT_S8_DSP_H
#define NNACL_DOT_S8_DSP_H

#include "nnacl_base.h"

/* Words of a group beside its weights. */
#define NNACL_GROUP_WORDS_DSP 12

/* One vector x times four: for each four elements of the depth, a word for each channel. Writes start + sums over
 * `quads` times four elements and returns where the weights go on. */
const int32_t *nnacl_dot4_s8_dsp(const int8_t *x, const int32_t *group, int32_t quads, int32_t sums[4]);

/* The sources in assembly know the order and size of these fields. */
typedef struct nnacl_taps_dsp {
    const int8_t *const *taps; /* where the channels of each tap begin */
    int32_t count;             /* at least 1 */
    const int32_t *group;      /* the first one; a word of four channels for each tap */
    int32_t groups;            /* at least 1 */
    int32_t channel;           /* the first one */
    int8_t *y;                 /* the first one */
    int32_t shift;             /* of the lines (requant_line.h): 4 or 1; 0: `sums` is wanted, of one group */
    int32_t *sums;
} nnacl_taps_dsp;

/* Channel by channel: taps times weights, for `groups` neighbouring groups of four channels. Writes y, or sums. Returns
 * where the next group begins. */
const int32_t *nnacl_taps_s8_dsp(const nnacl_taps_dsp *position);

#endif
