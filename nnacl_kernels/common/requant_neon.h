/* SPDX-License-Identifier: Apache-2.0 */
/* requant.h for vectors of AArch64, with what common/panels_arm.h packed: the same integers for every argument. */
#ifndef NNACL_REQUANT_NEON_H
#define NNACL_REQUANT_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "common/panels_arm.h"

/* Multipliers, shifts and fixes of four columns. */
typedef struct nnacl_requant_four {
    int32x4_t multiplier, shift, fix;
} nnacl_requant_four;

NNACL_ALWAYS_INLINE nnacl_requant_four nnacl_requant_load_neon(const int32_t *multipliers, int32_t width,
                                                               const int32_t mode) {
    const int32x4_t none = vdupq_n_s32(0);
    return (nnacl_requant_four){vld1q_s32(multipliers), mode == NNACL_ARM_SCALE ? none : vld1q_s32(multipliers + width),
                                mode == NNACL_ARM_DOUBLE ? vld1q_s32(multipliers + 2 * width) : none};
}

/* Four sums, without zero point and clamp. */
NNACL_ALWAYS_INLINE int32x4_t nnacl_requant_neon(int32x4_t sums, nnacl_requant_four r, const int32_t mode) {
    if (mode == NNACL_ARM_UP) {
        return vrshlq_s32(vqrdmulhq_s32(sums, r.multiplier), r.shift);
    }
    if (mode == NNACL_ARM_SCALE) {
        return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), vreinterpretq_f32_s32(r.multiplier)));
    }
    if (mode == NNACL_ARM_DOUBLE) {
        const int32x4_t none = vdupq_n_s32(0);
        int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, vmaxq_s32(r.shift, none)), r.multiplier);
        high = vqaddq_s32(high, vandq_s32(vshrq_n_s32(high, 31), r.fix));
        return vrshlq_s32(high, vminq_s32(r.shift, none));
    }
    const int64x2_t low = vmull_s32(vget_low_s32(sums), vget_low_s32(r.multiplier));
    const int64x2_t high = vmull_high_s32(sums, r.multiplier);
    return vcombine_s32(vqmovn_s64(vrshlq_s64(low, vmovl_s32(vget_low_s32(r.shift)))),
                        vqmovn_s64(vrshlq_s64(high, vmovl_high_s32(r.shift))));
}

/* Eight sums that are requantized, with the zero point. */
NNACL_ALWAYS_INLINE int16x8_t nnacl_requant_words_neon(int32x4_t a, int32x4_t b, int16x8_t zero) {
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), zero);
}

/* The first `count` of eight or sixteen bytes. */
NNACL_ALWAYS_INLINE void nnacl_store_8_neon(int8_t *y, int8x8_t value, int32_t count) {
    if (count >= 8) {
        vst1_s8(y, value);
        return;
    }
    uint64_t bytes = vget_lane_u64(vreinterpret_u64_s8(value), 0);
    for (int32_t size = 4; size > 0; size /= 2) {
        if (count & size) {
            memcpy(y, &bytes, (size_t)size);
            y += size;
            bytes >>= 8 * size;
        }
    }
}

NNACL_ALWAYS_INLINE void nnacl_store_16_neon(int8_t *y, int8x16_t value, int32_t count) {
    if (count >= 16) {
        vst1q_s8(y, value);
    } else if (count >= 8) {
        vst1_s8(y, vget_low_s8(value));
        nnacl_store_8_neon(y + 8, vget_high_s8(value), count - 8);
    } else {
        nnacl_store_8_neon(y, vget_low_s8(value), count);
    }
}

#endif
