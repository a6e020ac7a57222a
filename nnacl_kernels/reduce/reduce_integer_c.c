/* s32 and s64. Sums and products are computed unsigned, so that they wrap. */
#include "reduce/reduce_walk.h"

#define REDUCE(op, dtype, type, start, combine)                                                                        \
    NNACL_REDUCE_KERNEL(nnacl_reduce_##op##_##dtype##_c, type, type, start, combine, a)

#define INTEGER(dtype, type, least, most)                                                                              \
    REDUCE(sum, dtype, type, 0, (type)((u##type)a + (u##type)b))                                                       \
    REDUCE(prod, dtype, type, 1, (type)((u##type)a * (u##type)b))                                                      \
    REDUCE(max, dtype, type, least, a > b ? a : b)                                                                     \
    REDUCE(min, dtype, type, most, a < b ? a : b)

INTEGER(s32, int32_t, INT32_MIN, INT32_MAX)
INTEGER(s64, int64_t, INT64_MIN, INT64_MAX)
