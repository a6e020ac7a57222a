/* SPDX-License-Identifier: Apache-2.0 */
/* vector_f32_avx512.h for AArch64: eight lanes, in two registers, so that loops go over as much as those of AVX2. */
#ifndef NNACL_VECTOR_F32_NEON_H
#define NNACL_VECTOR_F32_NEON_H

#include "common/float_math_neon.h"
#include "common/lanes_neon.h"

#define LANES 8
#define vector_inline static inline __attribute__((always_inline))

typedef struct vector {
    float32x4_t low, high;
} vector;
typedef int32_t vector_lanes;

vector_inline vector_lanes lanes_of(int32_t count) {
    return count;
}

vector_inline vector load_all(const float *from) {
    return (vector){vld1q_f32(from), vld1q_f32(from + 4)};
}

vector_inline void store_all(float *to, vector v) {
    vst1q_f32(to, v.low);
    vst1q_f32(to + 4, v.high);
}

/* In registers from here on. */
vector_inline vector hold(vector v) {
    __asm__("" : "+w"(v.low), "+w"(v.high));
    return v;
}

vector_inline vector spread(float x) {
    return (vector){vdupq_n_f32(x), vdupq_n_f32(x)};
}

vector_inline vector load_or(const float *from, vector_lanes lanes, vector other) {
    if (lanes >= LANES) {
        return load_all(from);
    }
    return (vector){nnacl_load_or_neon(from, lanes, other.low), nnacl_load_or_neon(from + 4, lanes - 4, other.high)};
}

vector_inline vector load(const float *from, vector_lanes lanes) {
    return load_or(from, lanes, spread(0.0f));
}

vector_inline void store(float *to, vector_lanes lanes, vector v) {
    if (lanes >= LANES) {
        store_all(to, v);
    } else {
        nnacl_store_neon(to, lanes, v.low);
        nnacl_store_neon(to + 4, lanes - 4, v.high);
    }
}

vector_inline vector add(vector a, vector b) {
    return (vector){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

vector_inline vector sub(vector a, vector b) {
    return (vector){vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}

vector_inline vector mul(vector a, vector b) {
    return (vector){vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}

vector_inline vector madd(vector a, vector b, vector c) {
    return (vector){vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}

vector_inline vector divide(vector a, vector b) {
    return (vector){vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
}

vector_inline vector larger(vector a, vector b) {
    return (vector){vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)};
}

/* b where a is NaN */
vector_inline vector larger_number(vector a, vector b) {
    return (vector){vmaxnmq_f32(a.low, b.low), vmaxnmq_f32(a.high, b.high)};
}

vector_inline vector smaller(vector a, vector b) {
    return (vector){vminq_f32(a.low, b.low), vminq_f32(a.high, b.high)};
}

vector_inline vector clamp(vector v, vector low, vector high) {
    return smaller(high, larger(low, v));
}

vector_inline float largest_lane(vector v) {
    return vmaxvq_f32(vmaxq_f32(v.low, v.high));
}

vector_inline float sum_of_lanes(vector v) {
    const float32x4_t four = vaddq_f32(v.low, v.high);
    return vaddv_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
}

vector_inline vector exponential(vector v) {
    return (vector){nnacl_exp_neon(v.low), nnacl_exp_neon(v.high)};
}

vector_inline vector sigmoid(vector v) {
    const vector one = spread(1.0f);
    return divide(one, add(one, exponential((vector){vnegq_f32(v.low), vnegq_f32(v.high)})));
}

vector_inline vector hyperbolic_tangent(vector v) {
    return (vector){nnacl_tanh_neon(v.low), nnacl_tanh_neon(v.high)};
}

#endif
