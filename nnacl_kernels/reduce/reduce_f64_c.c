/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "reduce/reduce_walk.h"

#define REDUCE(op, start, combine, finish)                                                                             \
    NNACL_REDUCE_KERNEL(nnacl_reduce_##op##_f64_c, double, double, start, combine, finish)

REDUCE(sum, 0.0, a + b, a)
REDUCE(mean, 0.0, a + b, a / (double)count)
REDUCE(prod, 1.0, (a * b), a)
/* NaN in either operand is the result. */
REDUCE(max, -(double)INFINITY, a > b || a != a ? a : b, a)
REDUCE(min, (double)INFINITY, a < b || a != a ? a : b, a)
