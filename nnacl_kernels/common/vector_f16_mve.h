/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of halves for MVE with floats, under the names of vector_f16_fp16.h. Even lanes of such a vector and odd ones
 * become a vector of floats each. */
#ifndef NNACL_VECTOR_F16_MVE_H
#define NNACL_VECTOR_F16_MVE_H

#include <arm_mve.h>
#include <string.h>

#include "nnacl_base.h"

/* Lanes of a vector that hold something. */
typedef mve_pred16_t nnacl_lanes_f16;

NNACL_ALWAYS_INLINE nnacl_lanes_f16 nnacl_lanes_of_f16(int32_t left) {
    return vctp16q((uint32_t)left);
}

/* Whether code for whole vectors is worth it here: they cost no less. */
NNACL_ALWAYS_INLINE bool nnacl_is_whole_f16(nnacl_lanes_f16 lanes) {
    (void)lanes;
    return false;
}

#define NNACL_WHOLE_F16 ((nnacl_lanes_f16)0xffff)

/* The other lanes are 0 and not read. */
NNACL_ALWAYS_INLINE float16x8_t nnacl_load_f16(const float16_t *x, nnacl_lanes_f16 lanes) {
    return vldrhq_z_f16(x, lanes);
}

NNACL_ALWAYS_INLINE void nnacl_store_f16(float16_t *y, float16x8_t value, nnacl_lanes_f16 lanes) {
    vstrhq_p_f16(y, value, lanes);
}

/* What is not a number stays that: no comparison is true for it. */
NNACL_ALWAYS_INLINE float16x8_t nnacl_clamp_f16(float16x8_t x, float16x8_t low, float16x8_t high) {
    x = vpselq_f16(low, x, vcmpgtq_f16(low, x));
    return vpselq_f16(high, x, vcmpgtq_f16(x, high));
}

/* The floats of the even lanes and those of the odd ones: vcvtb.f32.f16 q1, q0 and vcvtt.f32.f16 q2, q0 as numbers,
 * because GNU as before 2.41 writes vcvtb and vcvtt of vectors with the wrong registers. */
NNACL_ALWAYS_INLINE float32x4x2_t nnacl_floats_of_mve(float16x8_t x) {
    register float16x8_t halves __asm__("q0") = x;
    register float32x4_t even __asm__("q1");
    register float32x4_t odd __asm__("q2");
    __asm__(".inst.w 0xfe3f2e01\n.inst.w 0xfe3f5e01" : "=&w"(even), "=w"(odd) : "w"(halves));
    const float32x4x2_t floats = {{even, odd}};
    return floats;
}

/* vcvtb.f16.f32 q0, q1 and vcvtt.f16.f32 q0, q2. */
NNACL_ALWAYS_INLINE float16x8_t nnacl_halves_of_mve(float32x4x2_t x) {
    register float16x8_t halves __asm__("q0");
    register float32x4_t even __asm__("q1") = x.val[0];
    register float32x4_t odd __asm__("q2") = x.val[1];
    __asm__(".inst.w 0xee3f0e03\n.inst.w 0xee3f1e05" : "=&w"(halves) : "w"(even), "w"(odd));
    return halves;
}

/* What halves are rounded from: 8 floats. */
typedef float32x4x2_t nnacl_wide_f16;

/* sums + x. */
NNACL_ALWAYS_INLINE nnacl_wide_f16 nnacl_join_f16(nnacl_wide_f16 sums, float16x8_t x) {
    const float32x4x2_t floats = nnacl_floats_of_mve(x);
    const float32x4x2_t joined = {{vaddq_f32(sums.val[0], floats.val[0]), vaddq_f32(sums.val[1], floats.val[1])}};
    return joined;
}

NNACL_ALWAYS_INLINE float32x4x2_t nnacl_zeros_f16(void) {
    const float32x4x2_t zeros = {{vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)}};
    return zeros;
}

NNACL_ALWAYS_INLINE nnacl_wide_f16 nnacl_add_wide_f16(nnacl_wide_f16 a, nnacl_wide_f16 b) {
    const nnacl_wide_f16 sum = {{vaddq_f32(a.val[0], b.val[0]), vaddq_f32(a.val[1], b.val[1])}};
    return sum;
}

/* There is no division of vectors: times the rounded inverse. */
NNACL_ALWAYS_INLINE float16x8_t nnacl_quotient_f16(nnacl_wide_f16 x, float divisor) {
    const float factor = 1.0f / divisor;
    const float32x4x2_t scaled = {{vmulq_n_f32(x.val[0], factor), vmulq_n_f32(x.val[1], factor)}};
    return nnacl_halves_of_mve(scaled);
}

#endif
