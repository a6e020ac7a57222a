/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clamp.h"
#include "common/float_math.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

NNACL_BROADCAST_KERNEL(nnacl_pow_f32_c, nnacl_binary_params, float, float,
                       nnacl_clamp_f32(nnacl_powf(a, b), p->clamp_min, p->clamp_max))
