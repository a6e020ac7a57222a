/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/binary_quantized.h"

NNACL_BINARY_QUANTIZED(s16, int16_t)
