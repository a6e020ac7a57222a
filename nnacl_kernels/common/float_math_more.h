/* SPDX-License-Identifier: Apache-2.0 */
/* The rarer elementary functions in float32, by the rules of float_math.h: the same bits on every machine. Errors are
 * stated in units in the last place. */
#ifndef NNACL_FLOAT_MATH_MORE_H
#define NNACL_FLOAT_MATH_MORE_H

#include "common/float_math.h"

/* Tangent. Error < 4 ulp for every finite x. */
static inline float nnacl_tanf(float x) {
    if (fabsf(x) < 0.000244140625f) {
        return x;
    }
    uint32_t quadrant;
    const float r = nnacl_reduce_angle(x, &quadrant);
    const float sine = nnacl_sin_small(r), cosine = nnacl_cos_small(r);
    return x - x != 0.0f ? NAN : quadrant & 1 ? -cosine / sine : sine / cosine;
}

/* Arc tangent. Error < 3 ulp. */
static inline float nnacl_atanf(float x) {
    const float a = fabsf(x);
    float base = 0.0f, t = a;
    if (a > 2.41421366f) {
        base = 1.57079637f;
        t = -1.0f / a;
    } else if (a > 0.414213568f) {
        base = 0.785398185f;
        t = (a - 1.0f) / (a + 1.0f);
    }
    const float z = t * t;
    float p = -0.0653524399f;
    p = p * z + 0.107722908f;
    p = p * z + -0.142669663f;
    p = p * z + 0.199996367f;
    p = p * z + -0.333333313f;
    const float result = base + (p * z * t + t);
    return x < 0.0f ? -result : x == 0.0f ? x : result;
}

/* asin(x) - x for |x| <= 1/2, from z = x^2. */
static inline float nnacl_asin_tail(float x, float z) {
    float p = 0.0390160941f;
    p = p * z + 0.026087556f;
    p = p * z + 0.0450737402f;
    p = p * z + 0.0749850944f;
    p = p * z + 0.166666746f;
    return p * z * x;
}

/* 2 asin(sqrt((1 - a) / 2)), which is acos(a), for 1/2 <= a <= 1; NaN above. */
static inline float nnacl_acos_upper(float a) {
    const float z = 0.5f * (1.0f - a);
    const float root = sqrtf(z);
    return 2.0f * (root + nnacl_asin_tail(root, z));
}

/* Arc sine. Error < 3 ulp; NaN outside of -1 .. 1. */
static inline float nnacl_asinf(float x) {
    const float a = fabsf(x);
    if (a <= 0.5f) {
        return x + nnacl_asin_tail(x, x * x);
    }
    const float result = 1.57079637f - nnacl_acos_upper(a);
    return x < 0.0f ? -result : result;
}

/* Arc cosine. Error < 2 ulp; NaN outside of -1 .. 1. */
static inline float nnacl_acosf(float x) {
    if (x > 0.5f) {
        return nnacl_acos_upper(x);
    }
    if (x < -0.5f) {
        return 3.14159274f - nnacl_acos_upper(-x);
    }
    return 1.57079637f - (x + nnacl_asin_tail(x, x * x));
}

/* Hyperbolic sine. Error < 3 ulp. */
static inline float nnacl_sinhf(float x) {
    const float a = fabsf(x);
    if (a < 0.000244140625f) {
        return x;
    }
    float result;
    if (a < 88.0f) {
        const float e = nnacl_expm1f(a);
        result = 0.5f * (e + e / (e + 1.0f));
    } else {
        const float root = nnacl_expf(0.5f * a);
        result = 0.5f * root * root;
    }
    return x < 0.0f ? -result : result;
}

/* Hyperbolic cosine. Error < 3 ulp. */
static inline float nnacl_coshf(float x) {
    const float a = fabsf(x);
    if (a < 88.0f) {
        const float e = nnacl_expf(a);
        return 0.5f * e + 0.5f / e;
    }
    const float root = nnacl_expf(0.5f * a);
    return 0.5f * root * root;
}

/* Inverse hyperbolic sine. Error < 3 ulp. */
static inline float nnacl_asinhf(float x) {
    const float a = fabsf(x);
    if (a < 0.000244140625f) {
        return x;
    }
    float result;
    if (a < 1e10f) {
        const float square = a * a;
        result = nnacl_log1pf(a + square / (1.0f + sqrtf(square + 1.0f)));
    } else {
        result = nnacl_logf(a) + 0.693147182f;
    }
    return x < 0.0f ? -result : result;
}

/* Inverse hyperbolic cosine. Error < 3 ulp; NaN below 1. */
static inline float nnacl_acoshf(float x) {
    if (x < 1.0f) {
        return NAN;
    }
    if (x > 1e10f) {
        return nnacl_logf(x) + 0.693147182f;
    }
    const float t = x - 1.0f;
    return nnacl_log1pf(t + sqrtf(2.0f * t + t * t));
}

/* Inverse hyperbolic tangent. Error < 3 ulp; NaN outside of -1 .. 1. */
static inline float nnacl_atanhf(float x) {
    const float a = fabsf(x);
    if (a < 0.000244140625f) {
        return x;
    }
    const float result = 0.5f * nnacl_log1pf(2.0f * a / (1.0f - a));
    return x < 0.0f ? -result : result;
}

#endif
