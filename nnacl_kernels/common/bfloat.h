/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16: the upper half of a float32. As in the instructions that multiply such numbers, subnormal ones are zero. */
#ifndef NNACL_BFLOAT_H
#define NNACL_BFLOAT_H

#include <stdint.h>
#include <string.h>

/* `bits` without the digits of a subnormal number. */
static inline uint16_t nnacl_bfloat_flushed(uint16_t bits) {
    return (bits & 0x7f80u) == 0 ? (uint16_t)(bits & 0x8000u) : bits;
}

static inline float nnacl_bfloat_to_float(uint16_t bfloat) {
    const uint32_t bits = (uint32_t)nnacl_bfloat_flushed(bfloat) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest one, ties to even; what is too large becomes infinite, what is subnormal as f32 zero, NaN stays one. */
static inline uint16_t nnacl_float_to_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    if (magnitude < 0x00800000u) {
        return (uint16_t)(bits >> 16 & 0x8000u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
