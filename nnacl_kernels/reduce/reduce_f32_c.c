/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "reduce/reduce_walk.h"

#define REDUCE(op, start, combine, finish)                                                                             \
    NNACL_REDUCE_KERNEL(nnacl_reduce_##op##_f32_c, float, float, start, combine, finish)

REDUCE(sum, 0.0f, a + b, a)
REDUCE(mean, 0.0f, a + b, a / (float)count)
REDUCE(prod, 1.0f, (a * b), a)
/* NaN in either operand is the result. */
REDUCE(max, -INFINITY, a > b || a != a ? a : b, a)
REDUCE(min, INFINITY, a < b || a != a ? a : b, a)
