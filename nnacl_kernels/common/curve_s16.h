/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of 16-bit integers by interpolation, as LiteRT computes them. */
#ifndef NNACL_CURVE_S16_H
#define NNACL_CURVE_S16_H

#include "common/requant.h"

/* A curve of 513 points at a place of 16 bits, which is limited to these; a point stands at each 128th place. */
static inline int32_t nnacl_curve_at_s16(const int16_t *curve, int32_t place) {
    const int32_t bounded = nnacl_clamp_s32(place, INT16_MIN, INT16_MAX);
    const int32_t index = 256 + (bounded >> 7);
    const int32_t low = curve[index], slope = (int16_t)(uint16_t)(curve[index + 1] - low);
    return low + ((slope * (bounded & 0x7f) + 64) >> 7);
}

#endif
