/* SPDX-License-Identifier: Apache-2.0 */
/* Four sums of products of bytes at a time, for dense. The weights stand in groups of four output channels:
 *
 *     int32 start of each
 *     for each four elements of the depth a word of each
 *     int32 multiplier and offset of each
 */
#ifndef NNACL_DOT_S8_DSP_H
#define NNACL_DOT_S8_DSP_H

#include "nnacl_base.h"

/* Words of a group beside its weights. */
#define NNACL_GROUP_WORDS_DSP 12

/* Writes start + the sums over `quads` times four elements and returns where the weights go on. */
const int32_t *nnacl_dot4_s8_dsp(const int8_t *x, const int32_t *group, int32_t quads, int32_t sums[4]);

#endif
