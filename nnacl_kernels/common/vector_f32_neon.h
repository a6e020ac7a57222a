/* SPDX-License-Identifier: Apache-2.0 */
/* vector_f32_avx512.h for AArch64: eight lanes, in two registers, so that loops go over as much as those of AVX2. */
#ifndef NNACL_VECTOR_F32_NEON_H
#define NNACL_VECTOR_F32_NEON_H

#include "common/float_math_neon.h"
#include "common/lanes_neon.h"

#define LANES 8

typedef struct vector {
    float32x4_t low, high;
} vector;
typedef int32_t vector_lanes;

NNACL_ALWAYS_INLINE vector_lanes lanes_of(int32_t count) {
    return count;
}

NNACL_ALWAYS_INLINE vector load_all(const float *from) {
    return (vector){vld1q_f32(from), vld1q_f32(from + 4)};
}

NNACL_ALWAYS_INLINE void store_all(float *to, vector v) {
    vst1q_f32(to, v.low);
    vst1q_f32(to + 4, v.high);
}

/* In registers from here on. */
NNACL_ALWAYS_INLINE vector hold(vector v) {
    __asm__("" : "+w"(v.low), "+w"(v.high));
    return v;
}

NNACL_ALWAYS_INLINE vector spread(float x) {
    return (vector){vdupq_n_f32(x), vdupq_n_f32(x)};
}

NNACL_ALWAYS_INLINE vector load_or(const float *from, vector_lanes lanes, vector other) {
    if (lanes >= LANES) {
        return load_all(from);
    }
    return (vector){nnacl_load_or_neon(from, lanes, other.low), nnacl_load_or_neon(from + 4, lanes - 4, other.high)};
}

NNACL_ALWAYS_INLINE vector load(const float *from, vector_lanes lanes) {
    return load_or(from, lanes, spread(0.0f));
}

NNACL_ALWAYS_INLINE void store(float *to, vector_lanes lanes, vector v) {
    if (lanes >= LANES) {
        store_all(to, v);
    } else {
        nnacl_store_neon(to, lanes, v.low);
        nnacl_store_neon(to + 4, lanes - 4, v.high);
    }
}

NNACL_ALWAYS_INLINE vector add(vector a, vector b) {
    return (vector){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector sub(vector a, vector b) {
    return (vector){vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector mul(vector a, vector b) {
    return (vector){vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector madd(vector a, vector b, vector c) {
    return (vector){vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector divide(vector a, vector b) {
    return (vector){vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector larger(vector a, vector b) {
    return (vector){vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)};
}

/* b where a is NaN */
NNACL_ALWAYS_INLINE vector larger_number(vector a, vector b) {
    return (vector){vmaxnmq_f32(a.low, b.low), vmaxnmq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector smaller(vector a, vector b) {
    return (vector){vminq_f32(a.low, b.low), vminq_f32(a.high, b.high)};
}

NNACL_ALWAYS_INLINE vector clamp(vector v, vector low, vector high) {
    return smaller(high, larger(low, v));
}

NNACL_ALWAYS_INLINE float largest_lane(vector v) {
    return vmaxvq_f32(vmaxq_f32(v.low, v.high));
}

NNACL_ALWAYS_INLINE float sum_of_lanes(vector v) {
    const float32x4_t four = vaddq_f32(v.low, v.high);
    return vaddv_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}

NNACL_ALWAYS_INLINE vector exponential(vector v) {
    return (vector){nnacl_exp_neon(v.low), nnacl_exp_neon(v.high)};
}

NNACL_ALWAYS_INLINE vector sigmoid(vector v) {
    const vector one = spread(1.0f);
    return divide(one, add(one, exponential((vector){vnegq_f32(v.low), vnegq_f32(v.high)})));
}

NNACL_ALWAYS_INLINE vector hyperbolic_tangent(vector v) {
    return (vector){nnacl_tanh_neon(v.low), nnacl_tanh_neon(v.high)};
}

#endif
