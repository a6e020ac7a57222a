/* SPDX-License-Identifier: Apache-2.0 */
/* The order of elements of any type, as integers: NaN above all numbers, -0 equal to 0. */
#ifndef NNACL_ORDER_H
#define NNACL_ORDER_H

#include <string.h>

#include "nnacl_base.h"

/* An element with its position; what comes first has the smaller key, or with equal keys the smaller position. */
typedef struct nnacl_ranked {
    uint64_t key;
    int64_t position;
} nnacl_ranked;

static inline uint16_t nnacl_bits_16(const void *x, ptrdiff_t i) {
    uint16_t bits;
    memcpy(&bits, (const char *)x + i * (ptrdiff_t)sizeof bits, sizeof bits);
    return bits;
}

static inline uint32_t nnacl_bits_32(const void *x, ptrdiff_t i) {
    uint32_t bits;
    memcpy(&bits, (const char *)x + i * (ptrdiff_t)sizeof bits, sizeof bits);
    return bits;
}

static inline uint64_t nnacl_bits_64(const void *x, ptrdiff_t i) {
    uint64_t bits;
    memcpy(&bits, (const char *)x + i * (ptrdiff_t)sizeof bits, sizeof bits);
    return bits;
}

/* A key that orders as the signed integers do. */
static inline uint64_t nnacl_signed_key(int64_t value) {
    return (uint64_t)value ^ 0x8000000000000000u;
}

/* A key that orders as the floats do whose sign bit and magnitude these are; `infinite` is the magnitude of infinity.
 */
static inline uint64_t nnacl_float_key(bool negative, uint64_t magnitude, uint64_t infinite) {
    if (magnitude > infinite) {
        return UINT64_MAX;
    }
    return nnacl_signed_key(negative ? -(int64_t)magnitude : (int64_t)magnitude);
}

/* The key of element `i` of x. */
static inline uint64_t nnacl_order_key(const void *x, ptrdiff_t i, int32_t dtype) {
    switch (dtype) {
    case NNACL_F32: {
        const uint32_t bits = nnacl_bits_32(x, i);
        return nnacl_float_key(bits >> 31, bits & 0x7fffffffu, 0x7f800000u);
    }
    case NNACL_F16: {
        const uint16_t bits = nnacl_bits_16(x, i);
        return nnacl_float_key(bits >> 15, bits & 0x7fffu, 0x7c00u);
    }
    case NNACL_F64: {
        const uint64_t bits = nnacl_bits_64(x, i);
        return nnacl_float_key(bits >> 63, bits & 0x7fffffffffffffffu, 0x7ff0000000000000u);
    }
    case NNACL_S8:
        return nnacl_signed_key(((const int8_t *)x)[i]);
    case NNACL_S16:
        return nnacl_signed_key((int16_t)nnacl_bits_16(x, i));
    case NNACL_S32:
        return nnacl_signed_key((int32_t)nnacl_bits_32(x, i));
    case NNACL_S64:
        return nnacl_signed_key((int64_t)nnacl_bits_64(x, i));
    case NNACL_U16:
        return nnacl_bits_16(x, i);
    case NNACL_U32:
        return nnacl_bits_32(x, i);
    case NNACL_U64:
        return nnacl_bits_64(x, i);
    default:
        return ((const uint8_t *)x)[i];
    }
}

/* Whether element `i` of x is 0. */
static inline bool nnacl_is_zero(const void *x, ptrdiff_t i, int32_t dtype) {
    switch (dtype) {
    case NNACL_F32:
        return (nnacl_bits_32(x, i) & 0x7fffffffu) == 0;
    case NNACL_F16:
        return (nnacl_bits_16(x, i) & 0x7fffu) == 0;
    case NNACL_F64:
        return (nnacl_bits_64(x, i) & 0x7fffffffffffffffu) == 0;
    case NNACL_S16:
    case NNACL_U16:
        return nnacl_bits_16(x, i) == 0;
    case NNACL_S32:
    case NNACL_U32:
        return nnacl_bits_32(x, i) == 0;
    case NNACL_S64:
    case NNACL_U64:
        return nnacl_bits_64(x, i) == 0;
    default:
        return ((const uint8_t *)x)[i] == 0;
    }
}

#endif
