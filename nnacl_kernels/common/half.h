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

#endif
