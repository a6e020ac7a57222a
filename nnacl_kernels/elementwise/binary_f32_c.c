/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"
#include "elementwise/simple_f32.h"

#define BINARY(op, expression)                                                                                         \
    NNACL_BROADCAST_KERNEL(nnacl_##op##_f32_c, nnacl_binary_params, float, float,                                      \
                           nnacl_clamp_f32(expression, p->clamp_min, p->clamp_max))

/* The remainder with the sign of the divisor; 0 has the sign of the divisor as well. fmodf() is exact. */
static inline float floor_mod(float a, float b) {
    const float rest = fmodf(a, b);
    if (rest == 0.0f) {
        return copysignf(0.0f, b);
    }
    return (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

NNACL_SIMPLE_BINARY(BINARY)
BINARY(mod, floor_mod(a, b))
BINARY(fmod, fmodf(a, b))
