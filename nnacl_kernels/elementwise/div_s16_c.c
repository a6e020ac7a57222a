/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/div_quantized.h"

NNACL_BINARY_SCALED(nnacl_div_s16_c, int16_t, nnacl_div_quotient)
