/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

static inline double clamp(double value, double low, double high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

#define BINARY(op, expression)                                                                                         \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_f64_c, nnacl_binary_params, double, double,                                    \
                           clamp(expression, (double)p->clamp_min, (double)p->clamp_max))

/* The remainder with the sign of the divisor; 0 has the sign of the divisor as well. fmod() is exact. */
static inline double floor_mod(double a, double b) {
    const double rest = fmod(a, b);
    if (rest == 0.0) {
        return copysign(0.0, b);
    }
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, (a * b))
BINARY(div, a / b)
/* NaN in either operand is the result. */
BINARY(max, a > b || a != a ? a : b)
BINARY(min, a < b || a != a ? a : b)
BINARY(squared_difference, (a - b) * (a - b))
BINARY(mod, floor_mod(a, b))
BINARY(fmod, fmod(a, b))
BINARY(prelu, a > 0.0 ? a : a * b)
