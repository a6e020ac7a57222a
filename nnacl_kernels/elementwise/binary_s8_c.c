/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/binary_quantized.h"

NNACL_BINARY_QUANTIZED(s8, int8_t)
