/* SPDX-License-Identifier: Apache-2.0 */
/* s32, s64 and u64. Sums, differences and products are computed unsigned, so that they wrap. */
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

#define BINARY(op, dtype, type, expression)                                                                            \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_##dtype##_c, nnacl_binary_params, type, type, expression)

#define WRAP(type, wide, a, operator, b) ((type)((wide)(a) operator(wide)(b)))

/* The quotient towards zero, and the remainders with the sign of the dividend and of the divisor. Division by 0 gives
 * 0, that of the most negative number by -1 wraps. */
#define SIGNED_DIVISION(dtype, type, wide)                                                                             \
    static inline type quotient_##dtype(type a, type b) {                                                              \
        return b == 0 ? 0 : b == -1 ? WRAP(type, wide, 0, -, a) : a / b;                                               \
    }                                                                                                                  \
    static inline type rest_##dtype(type a, type b) {                                                                  \
        return b == 0 || b == -1 ? 0 : a % b;                                                                          \
    }                                                                                                                  \
    static inline type floor_mod_##dtype(type a, type b) {                                                             \
        const type rest = rest_##dtype(a, b);                                                                          \
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                                                   \
    }

/* By squaring. A negative power is a fraction, of which the whole part remains; that of 0 gives 0. */
#define POWER(dtype, type, wide)                                                                                       \
    static inline type power_##dtype(type base, type exponent) {                                                       \
        if (exponent < 0) {                                                                                            \
            return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;                                      \
        }                                                                                                              \
        wide square = (wide)base;                                                                                      \
        wide result = 1;                                                                                               \
        for (; exponent > 0; exponent /= 2) {                                                                          \
            result = exponent % 2 == 0 ? result : (wide)(result * square);                                             \
            square = (wide)(square * square);                                                                          \
        }                                                                                                              \
        return (type)result;                                                                                           \
    }

#define INTEGER(dtype, type, wide)                                                                                     \
    BINARY(add, dtype, type, WRAP(type, wide, a, +, b))                                                                \
    BINARY(sub, dtype, type, WRAP(type, wide, a, -, b))                                                                \
    BINARY(mul, dtype, type, WRAP(type, wide, a, *, b))                                                                \
    BINARY(div, dtype, type, quotient_##dtype(a, b))                                                                   \
    BINARY(mod, dtype, type, floor_mod_##dtype(a, b))                                                                  \
    BINARY(fmod, dtype, type, rest_##dtype(a, b))                                                                      \
    BINARY(max, dtype, type, a > b ? a : b)                                                                            \
    BINARY(min, dtype, type, a < b ? a : b)

#define SIGNED(dtype, type, wide)                                                                                      \
    SIGNED_DIVISION(dtype, type, wide)                                                                                 \
    POWER(dtype, type, wide)                                                                                           \
    INTEGER(dtype, type, wide)                                                                                         \
    BINARY(pow, dtype, type, power_##dtype(a, b))                                                                      \
    BINARY(squared_difference, dtype, type, WRAP(type, wide, WRAP(type, wide, a, -, b), *, WRAP(type, wide, a, -, b)))

SIGNED(s32, int32_t, uint32_t)
SIGNED(s64, int64_t, uint64_t)

static inline uint64_t quotient_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}

static inline uint64_t rest_u64(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a % b;
}

#define floor_mod_u64 rest_u64

INTEGER(u64, uint64_t, uint64_t)
