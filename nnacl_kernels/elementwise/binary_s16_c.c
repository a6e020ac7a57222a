/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/binary_quantized.h"

NNACL_BINARY_SUM(nnacl_add_s16_c, int16_t, 1)
NNACL_BINARY_SUM(nnacl_sub_s16_c, int16_t, -1)
NNACL_BINARY_SCALED(nnacl_mul_s16_c, int16_t, nnacl_binary_product)
NNACL_BINARY_SCALED(nnacl_prelu_s16_c, int16_t, nnacl_binary_prelu)
NNACL_BROADCAST_KERNEL(nnacl_max_s16_c, nnacl_binary_params, int16_t, int16_t, a > b ? a : b)
NNACL_BROADCAST_KERNEL(nnacl_min_s16_c, nnacl_binary_params, int16_t, int16_t, a < b ? a : b)
