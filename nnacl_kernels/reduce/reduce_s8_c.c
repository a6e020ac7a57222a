/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/reduce_quantized.h"

NNACL_REDUCE_SCALED(nnacl_reduce_mean_s8_c, int8_t)
NNACL_REDUCE_SCALED(nnacl_reduce_sum_s8_c, int8_t)
NNACL_REDUCE_KERNEL(nnacl_reduce_max_s8_c, int8_t, int8_t, INT8_MIN, a > b ? a : b, a)
NNACL_REDUCE_KERNEL(nnacl_reduce_min_s8_c, int8_t, int8_t, INT8_MAX, a < b ? a : b, a)
NNACL_REDUCE_PRODUCT(nnacl_reduce_prod_s8_c, int8_t)
