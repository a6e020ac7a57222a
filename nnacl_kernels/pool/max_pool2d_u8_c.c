/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/max_pool_integer.h"

NNACL_MAX_POOL_KERNEL(nnacl_max_pool2d_u8_c, uint8_t, 0)
