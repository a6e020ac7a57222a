/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of halves, as the kernels of AArch64 with half-precision arithmetic load and store them. */
#ifndef NNACL_VECTOR_F16_FP16_H
#define NNACL_VECTOR_F16_FP16_H

#include <arm_neon.h>
#include <string.h>

#include "nnacl_base.h"

/* How many lanes of a vector, from the first on, hold something. */
typedef int32_t nnacl_lanes_f16;

NNACL_ALWAYS_INLINE nnacl_lanes_f16 nnacl_lanes_of_f16(int32_t left) {
    return left < 8 ? left : 8;
}

/* Whether code for whole vectors is worth it here. */
NNACL_ALWAYS_INLINE bool nnacl_is_whole_f16(nnacl_lanes_f16 lanes) {
    return lanes == 8;
}

#define NNACL_WHOLE_F16 8

/* Up to 8 halves; the rest is 0 and not read. */
NNACL_ALWAYS_INLINE float16x8_t nnacl_load_f16(const float16_t *x, nnacl_lanes_f16 count) {
    if (count >= 8) {
        return vld1q_f16(x);
    }
    float16_t values[8] = {0};
    memcpy(values, x, (size_t)count * sizeof *values);
    return vld1q_f16(values);
}

/* Up to 8 halves. */
NNACL_ALWAYS_INLINE void nnacl_store_f16(float16_t *y, float16x8_t value, nnacl_lanes_f16 count) {
    if (count >= 8) {
        vst1q_f16(y, value);
        return;
    }
    float16x4_t part = vget_low_f16(value);
    if (count >= 4) {
        vst1_f16(y, part);
        part = vget_high_f16(value);
        y += 4;
        count -= 4;
    }
    if (count >= 1) {
        vst1_lane_f16(y, part, 0);
    }
    if (count >= 2) {
        vst1_lane_f16(y + 1, part, 1);
    }
    if (count >= 3) {
        vst1_lane_f16(y + 2, part, 2);
    }
}

NNACL_ALWAYS_INLINE float16x8_t nnacl_clamp_f16(float16x8_t x, float16x8_t low, float16x8_t high) {
    return vminq_f16(vmaxq_f16(x, low), high);
}

/* What halves are rounded from: 8 floats. */
typedef struct nnacl_wide_f16 {
    float32x4_t low, high;
} nnacl_wide_f16;

NNACL_ALWAYS_INLINE nnacl_wide_f16 nnacl_zeros_f16(void) {
    return (nnacl_wide_f16){vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
}

NNACL_ALWAYS_INLINE nnacl_wide_f16 nnacl_join_f16(nnacl_wide_f16 sums, float16x8_t x) {
    return (nnacl_wide_f16){vaddq_f32(sums.low, vcvt_f32_f16(vget_low_f16(x))),
                            vaddq_f32(sums.high, vcvt_high_f32_f16(x))};
}

NNACL_ALWAYS_INLINE nnacl_wide_f16 nnacl_add_wide_f16(nnacl_wide_f16 a, nnacl_wide_f16 b) {
    return (nnacl_wide_f16){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE float16x8_t nnacl_round_f16(nnacl_wide_f16 x) {
    return vcvt_high_f16_f32(vcvt_f16_f32(x.low), x.high);
}

NNACL_ALWAYS_INLINE float16x8_t nnacl_quotient_f16(nnacl_wide_f16 x, float divisor) {
    const float32x4_t by = vdupq_n_f32(divisor);
    return nnacl_round_f16((nnacl_wide_f16){vdivq_f32(x.low, by), vdivq_f32(x.high, by)});
}

#endif
