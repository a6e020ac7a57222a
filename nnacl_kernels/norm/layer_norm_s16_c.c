/* SPDX-License-Identifier: Apache-2.0 */
#include "norm/layer_norm_integer.h"

NNACL_DECLARE(nnacl_layer_norm_s16_c);
NNACL_LAYER_NORM(nnacl_layer_norm_s16_c, int16_t, INT16_MIN, INT16_MAX)
