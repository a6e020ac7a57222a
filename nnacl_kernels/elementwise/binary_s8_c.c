/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/binary_quantized.h"

NNACL_BINARY_SUM(nnacl_add_s8_c, int8_t, 1)
NNACL_BINARY_SUM(nnacl_sub_s8_c, int8_t, -1)
NNACL_BINARY_SCALED(nnacl_mul_s8_c, int8_t, nnacl_binary_product)
NNACL_BINARY_SCALED(nnacl_prelu_s8_c, int8_t, nnacl_binary_prelu)
NNACL_BROADCAST_KERNEL(nnacl_max_s8_c, nnacl_binary_params, int8_t, int8_t, a > b ? a : b)
NNACL_BROADCAST_KERNEL(nnacl_min_s8_c, nnacl_binary_params, int8_t, int8_t, a < b ? a : b)
