/* SPDX-License-Identifier: Apache-2.0 */
/* fixed_point.h with the rounding upper half of a product. To be included before that. */
#ifndef NNACL_FIXED_POINT_DSP_H
#define NNACL_FIXED_POINT_DSP_H

#include <stdint.h>

static inline int32_t nnacl_mul_s16_dsp(int32_t a, int32_t b) {
    int32_t product;
    __asm__("smmulr %0, %1, %2" : "=r"(product) : "r"(a), "r"((int32_t)((uint32_t)b << 17)));
    return product;
}

/* Shifted, b has lost 2^32, which makes the product less by a. */
static inline int32_t nnacl_mul_large_s16_dsp(int32_t a, int32_t b) {
    int32_t product;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(product) : "r"(a), "r"((int32_t)((uint32_t)b << 17)));
    return product;
}

#define NNACL_MUL_S16(a, b) nnacl_mul_s16_dsp(a, b)
#define NNACL_MUL_LARGE_S16(a, b) nnacl_mul_large_s16_dsp(a, b)

#include "common/fixed_point.h"

#endif
