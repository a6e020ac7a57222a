/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights of s8 for common/multiply_s16_dsp.h: channels in pairs, in each pair the units of every run; an odd run
 * ends with half a unit of 0, and with an odd number of channels the last pair repeats the channel before the last.
 * Portable: the plan half packs for any target. */
#ifndef NNACL_PAIRS_S16_H
#define NNACL_PAIRS_S16_H

#include "common/runs.h"

static inline int32_t nnacl_pair_units(int32_t length) {
    return length / 2 + length % 2;
}

/* The first channel of a pair; of at least two channels. */
static inline int32_t nnacl_pair_channel(int32_t channels, int32_t pair) {
    return pair * 2 + 1 < channels ? pair * 2 : channels - 2;
}

static inline size_t nnacl_pairs_s16_size(int32_t channels, nnacl_runs runs) {
    return (size_t)nnacl_pair_units(channels) * (size_t)runs.count * (size_t)nnacl_pair_units(runs.length) * 4;
}

/* Weights are [channels][runs]. */
static inline void nnacl_pack_pairs_s16(const int8_t *weights, int32_t channels, nnacl_runs runs, int8_t *packed) {
    const ptrdiff_t depth = (ptrdiff_t)runs.count * runs.length;
    for (int32_t pair = 0; pair < nnacl_pair_units(channels); pair++) {
        const int8_t *w = weights + nnacl_pair_channel(channels, pair) * depth;
        for (int32_t run = 0; run < runs.count; run++, w += runs.length) {
            for (int32_t i = 0; i < runs.length + runs.length % 2; i++) {
                *packed++ = i < runs.length ? w[i] : 0;
                *packed++ = i < runs.length ? w[depth + i] : 0;
            }
        }
    }
}

#endif
