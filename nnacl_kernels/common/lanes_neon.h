/* SPDX-License-Identifier: Apache-2.0 */
/* Partial vectors of floats. */
#ifndef NNACL_LANES_NEON_H
#define NNACL_LANES_NEON_H

#include <arm_neon.h>

#include "nnacl_base.h"

/* The first `count` of four floats; the rest is `other` and not read. `count` may be negative or above 4. */
static inline float32x4_t nnacl_load_or_neon(const float *from, int32_t count, float32x4_t other) {
    if (count >= 4) {
        return vld1q_f32(from);
    }
    if (count > 0) {
        other = vld1q_lane_f32(from, other, 0);
    }
    if (count > 1) {
        other = vld1q_lane_f32(from + 1, other, 1);
    }
    return count > 2 ? vld1q_lane_f32(from + 2, other, 2) : other;
}

static inline void nnacl_store_neon(float *to, int32_t count, float32x4_t value) {
    if (count >= 4) {
        vst1q_f32(to, value);
        return;
    }
    if (count > 0) {
        vst1q_lane_f32(to, value, 0);
    }
    if (count > 1) {
        vst1q_lane_f32(to + 1, value, 1);
    }
    if (count > 2) {
        vst1q_lane_f32(to + 2, value, 2);
    }
}

#endif
