/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of half precision, which C11 has no type for. */
#ifndef NNACL_HALF_H
#define NNACL_HALF_H

#include <stdint.h>
#include <string.h>

/* The value of an IEEE half, exactly. */
static inline float nnacl_half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    uint32_t bits;
    float value;
    if (magnitude >= 0x7c00u) {
        bits = sign | 0x7f800000u | (magnitude & 0x3ffu) << 13;
    } else if (magnitude >= 0x400u) {
        bits = sign | ((magnitude << 13) + 0x38000000u);
    } else {
        /* Subnormal: a multiple of 2^-24. */
        value = (float)magnitude * 5.9604644775390625e-8f;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest IEEE half, ties to even; too large becomes infinite. */
static inline uint16_t nnacl_float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 0x47800000u) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) {
        const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
        return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
    }
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) {
        return sign;
    }
    /* Subnormal: shift the significand to multiples of 2^-24. */
    const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126 - exponent;
    const uint32_t kept = significand >> shift;
    const uint32_t lost = significand & ((1u << shift) - 1u);
    const uint32_t tie = 1u << (shift - 1);
    return (uint16_t)(sign | (kept + (lost > tie || (lost == tie && (kept & 1u)))));
}

#endif
