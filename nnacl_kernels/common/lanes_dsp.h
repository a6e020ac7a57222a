/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a word, and floats as integers, for the DSP extension. */
#ifndef NNACL_LANES_DSP_H
#define NNACL_LANES_DSP_H

#include <arm_acle.h>

#include "common/requant.h"

/* The larger of each two bytes. */
static inline uint32_t nnacl_max_bytes_dsp(uint32_t a, uint32_t b) {
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* The larger of each two halves. */
static inline uint32_t nnacl_max_halves_dsp(uint32_t a, uint32_t b) {
    (void)__ssub16((int16x2_t)a, (int16x2_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* The upper half of a product of 64 bits, rounded. */
static inline int32_t nnacl_upper_dsp(int32_t a, int32_t b) {
    int32_t upper;
    __asm__("smmulr %0, %1, %2" : "=r"(upper) : "r"(a), "r"(b));
    return upper;
}

#ifdef __ARM_FP
/* Twice a number that is not negative, rounded down; saturated. */
static inline int32_t nnacl_twice_dsp(float value) {
    __asm__("vcvt.s32.f32 %0, %0, #1" : "+t"(value));
    int32_t bits;
    __asm__("vmov %0, %1" : "=r"(bits) : "t"(value));
    return bits;
}

/* To the nearest integer, halves to even; saturated. */
static inline int32_t nnacl_nearest_dsp(float value) {
    __asm__("vcvtr.s32.f32 %0, %0" : "+t"(value));
    int32_t bits;
    __asm__("vmov %0, %1" : "=r"(bits) : "t"(value));
    return bits;
}
#endif

/* nnacl_requant_float(). */
static inline int32_t nnacl_requant_float_dsp(int32_t value, float scale, int32_t zero, int32_t q_min, int32_t q_max) {
#ifdef __ARM_FP
    return nnacl_clamp_s32(__qadd(nnacl_nearest_dsp((float)value * scale), zero), q_min, q_max);
#else
    return nnacl_requant_float(value, scale, zero, q_min, q_max);
#endif
}

#endif
