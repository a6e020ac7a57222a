/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/avg_pool_integer.h"

NNACL_AVG_POOL_KERNEL(nnacl_avg_pool2d_s8_c, int8_t, INT8_MIN)
