/* s32 and s64. Sums, differences and products are computed unsigned, so that they wrap. */
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

#define BINARY(op, dtype, type, expression)                                                                            \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_##dtype##_c, nnacl_binary_params, type, type, expression)

#define WRAP(type, a, operator, b) ((type)((u##type)(a) operator(u##type)(b)))

/* The quotient towards zero and the remainder with the sign of the divisor; the most negative number by -1 wraps. */
#define DIVISION(dtype, type)                                                                                          \
    static inline type quotient_##dtype(type a, type b) {                                                              \
        return b == 0 ? 0 : b == -1 ? WRAP(type, 0, -, a) : a / b;                                                     \
    }                                                                                                                  \
    static inline type floor_mod_##dtype(type a, type b) {                                                             \
        if (b == 0 || b == -1) {                                                                                       \
            return 0;                                                                                                  \
        }                                                                                                              \
        const type rest = a % b;                                                                                       \
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                                                   \
    }

#define INTEGER(dtype, type)                                                                                           \
    DIVISION(dtype, type)                                                                                              \
    BINARY(add, dtype, type, WRAP(type, a, +, b))                                                                      \
    BINARY(sub, dtype, type, WRAP(type, a, -, b))                                                                      \
    BINARY(mul, dtype, type, WRAP(type, a, *, b))                                                                      \
    BINARY(div, dtype, type, quotient_##dtype(a, b))                                                                   \
    BINARY(mod, dtype, type, floor_mod_##dtype(a, b))                                                                  \
    BINARY(max, dtype, type, a > b ? a : b)                                                                            \
    BINARY(min, dtype, type, a < b ? a : b)                                                                            \
    BINARY(squared_difference, dtype, type, WRAP(type, WRAP(type, a, -, b), *, WRAP(type, a, -, b)))

INTEGER(s32, int32_t)
INTEGER(s64, int64_t)
