/* SPDX-License-Identifier: Apache-2.0 */
/* Bitwise logic and shifts. Integers of either sign share the code but for the shift to the right. */
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"
#include "elementwise/unary.h"

#define PAIR(op, dtype, type, expression)                                                                              \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_##dtype##_c, nnacl_compare_params, type, type, (type)(expression))

/* b as a number of places; all that shift everything out are alike. */
#define PLACES(bits) ((uint64_t)b >= (bits) ? (bits)-1 : (int)b)

#define BITS(dtype, type, bits)                                                                                        \
    PAIR(bitwise_and, dtype, type, a &b)                                                                               \
    PAIR(bitwise_or, dtype, type, a | b)                                                                               \
    PAIR(bitwise_xor, dtype, type, a ^ b)                                                                              \
    PAIR(bit_shift_left, dtype, type, (uint64_t)b >= (bits) ? 0 : (uint64_t)a << (int)b)                               \
    NNACL_UNARY_KERNEL(nnacl_bitwise_not_##dtype##_c, type, (type)~v)

#define RIGHT(bits)                                                                                                    \
    PAIR(bit_shift_right, u##bits, uint##bits##_t, (uint64_t)b >= (bits) ? 0 : a >> (int)b)                            \
    PAIR(bit_shift_right, s##bits, int##bits##_t, a < 0 ? ~(~a >> PLACES(bits)) : a >> PLACES(bits))

BITS(i8, uint8_t, 8)
BITS(i16, uint16_t, 16)
BITS(i32, uint32_t, 32)
BITS(i64, uint64_t, 64)

RIGHT(8)
RIGHT(16)
RIGHT(32)
RIGHT(64)
