/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/reduce_quantized.h"

NNACL_REDUCE_QUANTIZED(s8, int8_t, INT8_MIN, INT8_MAX)
