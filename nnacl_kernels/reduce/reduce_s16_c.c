/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/reduce_quantized.h"

NNACL_REDUCE_QUANTIZED(s16, int16_t, INT16_MIN, INT16_MAX)
