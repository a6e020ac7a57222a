/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization of activations at run time, as the hybrid kernels of TFLite do it. */
#ifndef NNACL_QUANTIZE_DYNAMIC_H
#define NNACL_QUANTIZE_DYNAMIC_H

#include <math.h>

#include "common/requant.h"

typedef struct nnacl_dynamic_scale {
    float scale;
    int32_t zero;
} nnacl_dynamic_scale;

/* The zero point for values low .. high (low <= 0 <= high) in 255 steps of `scale`: the end of the range whose zero
 * point is computed with the smaller error decides. In double, as TFLite does. */
static inline int32_t nnacl_dynamic_zero(double low, double high, double scale) {
    const double from_low = -128.0 - low / scale, from_high = 127.0 - high / scale;
    const double zero = 128.0 - low / scale < 127.0 + high / scale ? from_low : from_high;
    if (!(zero > -128.0)) {
        return -128;
    }
    return zero >= 127.0 ? 127 : (int32_t)(zero < 0.0 ? zero - 0.5 : zero + 0.5);
}

/* Quantizes x[0 .. count - 1] to q: to -127 .. 127 around 0, or (asymmetric) to -128 .. 127 with a zero point. NaN and
 * infinities give some defined result. */
static inline nnacl_dynamic_scale nnacl_quantize_dynamic(const float *x, int8_t *q, int32_t count, bool asymmetric) {
    nnacl_dynamic_scale result = {1.0f, 0};
    float low = 0.0f, high = 0.0f;
    for (int32_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float inverse = 0.0f;
    if (low < high && asymmetric) {
        result.scale = (high - low) / 255.0f;
        result.zero = nnacl_dynamic_zero(low, high, (double)(high - low) / 255.0);
        inverse = 1.0f / result.scale;
    } else if (low < high) {
        const float largest = high > -low ? high : -low;
        result.scale = largest / 127.0f;
        inverse = 127.0f / largest;
    }
    const int32_t least = asymmetric ? -128 - result.zero : -127, most = 127 - result.zero;
    for (int32_t i = 0; i < count; i++) {
        q[i] = (int8_t)(nnacl_round_away(x[i] * inverse, least, most) + result.zero);
    }
    return result;
}

#endif
