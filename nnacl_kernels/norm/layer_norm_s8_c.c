/* SPDX-License-Identifier: Apache-2.0 */
#include "norm/layer_norm_integer.h"

NNACL_DECLARE(nnacl_layer_norm_s8_c);
NNACL_LAYER_NORM(nnacl_layer_norm_s8_c, int8_t, -128, 127)
