/* SPDX-License-Identifier: Apache-2.0 */
/* s32, s64 and u64. Sums and products are computed unsigned, so that they wrap. */
#include "reduce/reduce_walk.h"

#define REDUCE(op, dtype, type, start, combine)                                                                        \
    NNACL_REDUCE_KERNEL(nnacl_reduce_##op##_##dtype##_c, type, type, start, combine, a)

#define INTEGER(dtype, type, wide, least, most)                                                                        \
    REDUCE(sum, dtype, type, 0, (type)((wide)a + (wide)b))                                                             \
    REDUCE(prod, dtype, type, 1, (type)((wide)a * (wide)b))                                                            \
    REDUCE(max, dtype, type, least, a > b ? a : b)                                                                     \
    REDUCE(min, dtype, type, most, a < b ? a : b)

INTEGER(s32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
INTEGER(s64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
INTEGER(u64, uint64_t, uint64_t, 0, UINT64_MAX)
