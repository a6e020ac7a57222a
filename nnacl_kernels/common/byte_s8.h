/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are s8 or u8: read as s8, with the zero point moved along, both are the same numbers. */
#ifndef NNACL_BYTE_S8_H
#define NNACL_BYTE_S8_H

#include "nnacl_base.h"

/* What turns bytes of a type into s8: a mask to flip bits with. */
static inline uint8_t nnacl_byte_flip(int32_t dtype) {
    return dtype == NNACL_U8 ? 0x80 : 0;
}

static inline int32_t nnacl_byte_at(const uint8_t *x, ptrdiff_t index, uint8_t flip) {
    return (int8_t)(x[index] ^ flip);
}

/* The zero point of the flipped bytes. */
static inline uint32_t nnacl_byte_zero(int32_t zero, uint8_t flip) {
    return (uint32_t)zero - flip;
}

#endif
