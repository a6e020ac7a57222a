/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/reduce_quantized.h"

NNACL_REDUCE_SCALED(nnacl_reduce_mean_s16_c, int16_t)
NNACL_REDUCE_SCALED(nnacl_reduce_sum_s16_c, int16_t)
NNACL_REDUCE_KERNEL(nnacl_reduce_max_s16_c, int16_t, int16_t, INT16_MIN, a > b ? a : b, a)
NNACL_REDUCE_KERNEL(nnacl_reduce_min_s16_c, int16_t, int16_t, INT16_MAX, a < b ? a : b, a)
NNACL_REDUCE_PRODUCT(nnacl_reduce_prod_s16_c, int16_t)
