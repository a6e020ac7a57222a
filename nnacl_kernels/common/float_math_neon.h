/* SPDX-License-Identifier: Apache-2.0 */
/* float_math.h for four values at a time: the same operations in the same order, so the same bits. */
#ifndef NNACL_FLOAT_MATH_NEON_H
#define NNACL_FLOAT_MATH_NEON_H

#include <arm_neon.h>

#include "nnacl_base.h"

/* sum * x + term, rounded twice as everywhere here. */
static inline float32x4_t nnacl_step_neon(float32x4_t sum, float32x4_t x, float term) {
    return vaddq_f32(vmulq_f32(sum, x), vdupq_n_f32(term));
}

/* x < 0 ? -value : value */
static inline float32x4_t nnacl_sign_like_neon(float32x4_t value, float32x4_t x) {
    return vbslq_f32(vcltzq_f32(x), vnegq_f32(value), value);
}

/* value * 2^exponent, rounded once; nnacl_scale_f32(). */
static inline float32x4_t nnacl_scale_neon(float32x4_t value, int32x4_t exponent) {
    const int32x4_t bias = vdupq_n_s32(127);
    /* exponent / 2 towards zero */
    const int32x4_t half = vshrq_n_s32(vsubq_s32(exponent, vshrq_n_s32(exponent, 31)), 1);
    const int32x4_t rest = vsubq_s32(exponent, half);
    value = vmulq_f32(value, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23)));
    return vmulq_f32(value, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23)));
}

/* nnacl_expf(). NaN passes minimum and maximum, and is 0 as an integer. */
static inline float32x4_t nnacl_exp_neon(float32x4_t x) {
    x = vminq_f32(vmaxq_f32(x, vdupq_n_f32(-104.0f)), vdupq_n_f32(89.0f));
    const float32x4_t shifted = nnacl_step_neon(x, vdupq_n_f32(1.44269504f), 12582912.0f);
    const float32x4_t whole = vsubq_f32(shifted, vdupq_n_f32(12582912.0f));
    float32x4_t r = vsubq_f32(x, vmulq_f32(whole, vdupq_n_f32(0.693359375f)));
    r = vsubq_f32(r, vmulq_f32(whole, vdupq_n_f32(-0.00021219444f)));
    float32x4_t p = vdupq_n_f32(0.00139262681f);
    p = nnacl_step_neon(p, r, 0.00836324667f);
    p = nnacl_step_neon(p, r, 0.0416665541f);
    p = nnacl_step_neon(p, r, 0.166665766f);
    p = nnacl_step_neon(p, r, 0.5f);
    const float32x4_t result = vaddq_f32(vaddq_f32(vmulq_f32(p, vmulq_f32(r, r)), r), vdupq_n_f32(1.0f));
    return nnacl_scale_neon(result, vcvtq_s32_f32(whole));
}

/* nnacl_expm1f() */
static inline float32x4_t nnacl_expm1_neon(float32x4_t x) {
    float32x4_t p = vdupq_n_f32(2.49224364e-05f);
    p = nnacl_step_neon(p, x, 0.000199621762f);
    p = nnacl_step_neon(p, x, 0.00138887377f);
    p = nnacl_step_neon(p, x, 0.00833318207f);
    p = nnacl_step_neon(p, x, 0.0416666671f);
    p = nnacl_step_neon(p, x, 0.166666671f);
    p = nnacl_step_neon(p, x, 0.5f);
    const float32x4_t near = vaddq_f32(vmulq_f32(p, vmulq_f32(x, x)), x);
    const float32x4_t far = vsubq_f32(nnacl_exp_neon(x), vdupq_n_f32(1.0f));
    return vbslq_f32(vcltq_f32(vabsq_f32(x), vdupq_n_f32(0.5f)), near, far);
}

/* nnacl_tanhf() */
static inline float32x4_t nnacl_tanh_neon(float32x4_t x) {
    const float32x4_t a = vabsq_f32(x), z = vmulq_f32(x, x);
    const float32x4_t one = vdupq_n_f32(1.0f), two = vdupq_n_f32(2.0f);
    float32x4_t p = vdupq_n_f32(0.00229274481f);
    p = nnacl_step_neon(p, z, -0.00834394551f);
    p = nnacl_step_neon(p, z, 0.0217689186f);
    p = nnacl_step_neon(p, z, -0.0539592596f);
    p = nnacl_step_neon(p, z, 0.133333036f);
    p = nnacl_step_neon(p, z, -0.333333332f);
    const float32x4_t near = vaddq_f32(vmulq_f32(vmulq_f32(p, z), x), x);
    const float32x4_t e = vaddq_f32(nnacl_exp_neon(vmulq_f32(two, a)), one);
    const float32x4_t far = nnacl_sign_like_neon(vsubq_f32(one, vdivq_f32(two, e)), x);
    const float32x4_t result = vbslq_f32(vcltq_f32(a, vdupq_n_f32(0.625f)), near, far);
    return vbslq_f32(vcltq_f32(a, vdupq_n_f32(0.000244140625f)), x, result);
}

/* nnacl_erff() */
static inline float32x4_t nnacl_erf_neon(float32x4_t x) {
    const float32x4_t a = vabsq_f32(x), z = vmulq_f32(x, x);
    float32x4_t p = vdupq_n_f32(8.6903689e-05f);
    p = nnacl_step_neon(p, z, -0.000821457089f);
    p = nnacl_step_neon(p, z, 0.00520704891f);
    p = nnacl_step_neon(p, z, -0.0268617058f);
    p = nnacl_step_neon(p, z, 0.112837352f);
    p = nnacl_step_neon(p, z, -0.376126362f);
    p = nnacl_step_neon(p, z, 0.128379167f);
    const float32x4_t near = vaddq_f32(vmulq_f32(p, x), x);
    const float32x4_t b = vminq_f32(a, vdupq_n_f32(4.0f));
    float32x4_t q = vdupq_n_f32(1.6411144e-06f);
    q = nnacl_step_neon(q, b, -4.61192284e-05f);
    q = nnacl_step_neon(q, b, 0.000597151543f);
    q = nnacl_step_neon(q, b, -0.00476028572f);
    q = nnacl_step_neon(q, b, 0.0264200154f);
    q = nnacl_step_neon(q, b, -0.110071846f);
    q = nnacl_step_neon(q, b, -0.631842422f);
    q = nnacl_step_neon(q, b, -1.13021881f);
    q = nnacl_step_neon(q, b, 0.00031515415f);
    const float32x4_t far = nnacl_sign_like_neon(vsubq_f32(vdupq_n_f32(1.0f), nnacl_exp_neon(q)), x);
    return vbslq_f32(vcltq_f32(a, vdupq_n_f32(0.875f)), near, far);
}

#endif
