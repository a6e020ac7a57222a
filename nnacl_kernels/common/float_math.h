/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in float32: the same bits on every machine, because they use nothing but IEEE additions,
 * multiplications, divisions and integers (compile with -ffp-contract=off). Errors against the exact value, measured
 * over all arguments, are stated in units in the last place. NaN gives NaN; limits are those of C's <math.h>. */
#ifndef NNACL_FLOAT_MATH_H
#define NNACL_FLOAT_MATH_H

#include <math.h>
#include <string.h>

#include "nnacl_base.h"

static inline uint32_t nnacl_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float nnacl_bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* value * 2^exponent for -252 <= exponent <= 254, rounded once. */
static inline float nnacl_scale_f32(float value, int32_t exponent) {
    const int32_t half = exponent / 2;
    return value * nnacl_bits_float((uint32_t)(half + 127) << 23) *
           nnacl_bits_float((uint32_t)(exponent - half + 127) << 23);
}

/* e^x. Error < 1 ulp. */
static inline float nnacl_expf(float x) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: a sum with it is rounded to an integer */
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    const float shifted = x * 1.44269504f + magic;
    const float whole = shifted - magic;
    const float r = x - whole * 0.693359375f - whole * -0.00021219444f; /* x = whole * ln 2 + r */
    float p = 0.00139262681f;
    p = p * r + 0.00836324667f;
    p = p * r + 0.0416665541f;
    p = p * r + 0.166665766f;
    p = p * r + 0.5f;
    const float result = p * (r * r) + r + 1.0f;
    return nnacl_scale_f32(result, x == x ? (int32_t)whole : 0);
}

/* e^x - 1. Error < 2 ulp. */
static inline float nnacl_expm1f(float x) {
    if (x > -0.5f && x < 0.5f) {
        float p = 2.49224364e-05f;
        p = p * x + 0.000199621762f;
        p = p * x + 0.00138887377f;
        p = p * x + 0.00833318207f;
        p = p * x + 0.0416666671f;
        p = p * x + 0.166666671f;
        p = p * x + 0.5f;
        return p * (x * x) + x;
    }
    return nnacl_expf(x) - 1.0f;
}

/* x, positive and finite, as 2^exponent times the result, which is between sqrt(1/2) and sqrt(2). */
static inline float nnacl_split_exponent(float x, int32_t *exponent) {
    *exponent = 0;
    if (x < 1.17549435e-38f) {
        x *= 8388608.0f;
        *exponent = -23;
    }
    const uint32_t least = 0x3f3504f3;
    const uint32_t bits = nnacl_float_bits(x) - least;
    *exponent += (int32_t)bits >> 23;
    return nnacl_bits_float((bits & 0x7fffff) + least);
}

/* Natural logarithm. Error < 1 ulp. */
static inline float nnacl_logf(float x) {
    if (!(x > 0.0f) || x > 3.40282347e+38f) {
        return x == 0.0f ? -INFINITY : x < 0.0f ? NAN : x;
    }
    int32_t exponent;
    const float f = nnacl_split_exponent(x, &exponent) - 1.0f;
    /* log(1 + f) = 2 atanh(s) = f - f^2 / 2 + s * (f^2 / 2 + z * (2/3 + ...)) */
    const float s = f / (2.0f + f);
    const float z = s * s;
    float p = 0.233305744f;
    p = p * z + 0.285508169f;
    p = p * z + 0.400001219f;
    p = p * z + 0.666666666f;
    const float half_square = 0.5f * f * f;
    const float e = (float)exponent;
    return e * 0.693359375f - ((half_square - (s * (half_square + z * p) + e * -0.00021219444f)) - f);
}

/* log(1 + x). Error < 2 ulp. */
static inline float nnacl_log1pf(float x) {
    const float sum = 1.0f + x;
    if (!(sum > 0.0f) || sum > 3.40282347e+38f) {
        return nnacl_logf(sum);
    }
    if (sum == 1.0f) {
        return x;
    }
    /* What the addition lost is, to first order, a relative change of the argument. */
    const float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    return nnacl_logf(sum) + lost / sum;
}

/* Hyperbolic tangent. Error < 2 ulp. */
static inline float nnacl_tanhf(float x) {
    const float a = fabsf(x);
    if (a < 0.000244140625f) {
        return x;
    }
    if (a < 0.625f) {
        const float z = x * x;
        float p = 0.00229274481f;
        p = p * z + -0.00834394551f;
        p = p * z + 0.0217689186f;
        p = p * z + -0.0539592596f;
        p = p * z + 0.133333036f;
        p = p * z + -0.333333332f;
        return p * z * x + x;
    }
    const float result = 1.0f - 2.0f / (nnacl_expf(2.0f * a) + 1.0f);
    return x < 0.0f ? -result : result;
}

/* Error function. Error < 2 ulp. */
static inline float nnacl_erff(float x) {
    const float a = fabsf(x);
    if (a < 0.875f) {
        const float z = x * x;
        float p = 8.6903689e-05f;
        p = p * z + -0.000821457089f;
        p = p * z + 0.00520704891f;
        p = p * z + -0.0268617058f;
        p = p * z + 0.112837352f;
        p = p * z + -0.376126362f;
        p = p * z + 0.128379167f;
        return p * x + x;
    }
    /* erf(a) = 1 - e^q(a); from 4 on that is 1 */
    const float b = a > 4.0f ? 4.0f : a;
    float q = 1.6411144e-06f;
    q = q * b + -4.61192284e-05f;
    q = q * b + 0.000597151543f;
    q = q * b + -0.00476028572f;
    q = q * b + 0.0264200154f;
    q = q * b + -0.110071846f;
    q = q * b + -0.631842422f;
    q = q * b + -1.13021881f;
    q = q * b + 0.00031515415f;
    const float result = 1.0f - nnacl_expf(q);
    return x < 0.0f ? -result : result;
}

/* The 32 bits of 2 / pi that begin `position` bits behind the binary point; zeros before it. */
static inline uint32_t nnacl_two_over_pi(int32_t position) {
    static const uint32_t words[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                     0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const int32_t bit = position + 32;
    const uint64_t pair = (uint64_t)words[bit >> 5] << 32 | words[(bit >> 5) + 1];
    return (uint32_t)(pair >> (32 - (bit & 31)));
}

/* x = quadrant * pi/2 + rest (modulo 2 pi), |rest| <= pi/4, for every finite x: the rest is exact to float32 because
 * the product with 2 / pi is made in integers, of which only the bits below 4 and the first 70 behind the point
 * matter. */
static inline float nnacl_reduce_angle(float x, uint32_t *quadrant) {
    const uint32_t bits = nnacl_float_bits(x);
    const int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 150; /* |x| = mantissa * 2^exponent */
    if (fabsf(x) < 0.785398163f || exponent > 104) {
        *quadrant = 0;
        return x;
    }
    const uint64_t mantissa = (bits & 0x7fffff) | 0x800000;
    const int32_t start = exponent - 2;
    const uint64_t high = (uint64_t)nnacl_two_over_pi(start) << 32 | nnacl_two_over_pi(start + 32);
    /* in units of pi/2, scaled by 2^62, modulo 4 */
    const uint64_t turns = mantissa * high + (mantissa * nnacl_two_over_pi(start + 64) >> 32);
    const uint64_t nearest = (turns + ((uint64_t)1 << 61)) >> 62;
    const int64_t rest = (int64_t)(turns - (nearest << 62));
    const float angle = (float)((double)rest * (1.5707963267948966 / 4611686018427387904.0));
    *quadrant = (uint32_t)(bits >> 31 ? 4 - nearest : nearest) & 3;
    return bits >> 31 ? -angle : angle;
}

/* sin and cos of |r| <= pi/4. */
static inline float nnacl_sin_small(float r) {
    const float z = r * r;
    float p = 2.72499012e-06f;
    p = p * z + -0.000198400865f;
    p = p * z + 0.00833333187f;
    p = p * z + -0.166666667f;
    return p * z * r + r;
}

static inline float nnacl_cos_small(float r) {
    const float z = r * r;
    float p = -2.73009382e-07f;
    p = p * z + 2.48006002e-05f;
    p = p * z + -0.00138888877f;
    p = p * z + 0.0416666667f;
    return p * (z * z) - 0.5f * z + 1.0f;
}

/* Sine. Error < 2 ulp for every finite x. */
static inline float nnacl_sinf(float x) {
    if (fabsf(x) < 0.000244140625f) {
        return x;
    }
    uint32_t quadrant;
    const float r = nnacl_reduce_angle(x, &quadrant);
    const float result = quadrant & 1 ? nnacl_cos_small(r) : nnacl_sin_small(r);
    return x - x != 0.0f ? NAN : quadrant & 2 ? -result : result;
}

/* Cosine. Error < 2 ulp for every finite x. */
static inline float nnacl_cosf(float x) {
    uint32_t quadrant;
    const float r = nnacl_reduce_angle(x, &quadrant);
    const float result = quadrant & 1 ? nnacl_sin_small(r) : nnacl_cos_small(r);
    return x - x != 0.0f ? NAN : (quadrant + 1) & 2 ? -result : result;
}

/* log2 of a positive finite float, and 2^t rounded to float32: in double, for powf. */
static inline double nnacl_log2_double(float x) {
    int32_t exponent;
    const double m = nnacl_split_exponent(x, &exponent);
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 1.0 / 17.0; /* atanh(s) = s + s^3 / 3 + ... */
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    return exponent + 2.8853900817779268 * (s + s * z * p);
}

static inline float nnacl_exp2_double(double t) {
    if (t >= 128.0) {
        return INFINITY;
    }
    if (t < -150.0) {
        return 0.0f;
    }
    const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
    const double whole = (t + magic) - magic;
    const double r = (t - whole) * 0.69314718055994531;
    double p = 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const uint64_t bits = (uint64_t)((int64_t)whole + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return (float)(p * scale);
}

/* x^y. Error < 1 ulp. */
static inline float nnacl_powf(float x, float y) {
    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    if (x != x || y != y) {
        return NAN;
    }
    const float magnitude = fabsf(x);
    const bool whole = floorf(y) == y;
    const bool odd = whole && fabsf(y) < 16777216.0f && floorf(y * 0.5f) * 2.0f != y;
    const bool negative = odd && nnacl_float_bits(x) >> 31;
    float result;
    if (magnitude == 0.0f || magnitude > 3.40282347e+38f) {
        result = (magnitude == 0.0f) == (y > 0.0f) ? 0.0f : INFINITY;
    } else if (fabsf(y) > 3.40282347e+38f) {
        result = magnitude == 1.0f ? 1.0f : (magnitude > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
    } else if (x < 0.0f && !whole) {
        return NAN;
    } else {
        result = nnacl_exp2_double((double)y * nnacl_log2_double(magnitude));
    }
    return negative ? -result : result;
}

#endif
