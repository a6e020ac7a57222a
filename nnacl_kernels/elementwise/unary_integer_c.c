/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/unary.h"

#define UNARY(op, dtype, type, expression) NNACL_UNARY_KERNEL(nnacl_##op##_##dtype##_c, type, expression)

/* Computed unsigned, so that they wrap. */
#define INTEGER(dtype, type)                                                                                           \
    UNARY(neg, dtype, type, (type)(0 - (u##type)v))                                                                    \
    UNARY(abs, dtype, type, v < 0 ? (type)(0 - (u##type)v) : v)                                                        \
    UNARY(square, dtype, type, (type)((u##type)v * (u##type)v))                                                        \
    UNARY(sign, dtype, type, (v > 0) - (v < 0))

INTEGER(s32, int32_t)
INTEGER(s64, int64_t)

UNARY(logical_not, b8, uint8_t, v == 0)
