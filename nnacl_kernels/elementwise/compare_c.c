/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

#define COMPARE(op, dtype, type, expression)                                                                           \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_##dtype##_c, nnacl_compare_params, type, uint8_t, expression)

#define ORDER(dtype, type)                                                                                             \
    COMPARE(equal, dtype, type, a == b)                                                                                \
    COMPARE(not_equal, dtype, type, a != b)                                                                            \
    COMPARE(less, dtype, type, a < b)                                                                                  \
    COMPARE(less_equal, dtype, type, a <= b)                                                                           \
    COMPARE(greater, dtype, type, a > b)                                                                               \
    COMPARE(greater_equal, dtype, type, a >= b)

ORDER(f32, float)
ORDER(f64, double)
ORDER(s8, int8_t)
ORDER(u8, uint8_t)
ORDER(s32, int32_t)
ORDER(s64, int64_t)
ORDER(u64, uint64_t)

COMPARE(equal, b8, uint8_t, (a != 0) == (b != 0))
COMPARE(not_equal, b8, uint8_t, (a != 0) != (b != 0))
COMPARE(logical_and, b8, uint8_t, a != 0 && b != 0)
COMPARE(logical_or, b8, uint8_t, a != 0 || b != 0)
COMPARE(logical_xor, b8, uint8_t, (a != 0) != (b != 0))
