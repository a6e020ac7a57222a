/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_mve.h"
#include "pool/avg_pool_sums.h"

NNACL_AVG_POOL_SUMS(nnacl_avg_pool2d_s8_mve, int8_t, NNACL_TAP_LANES, nnacl_sum_taps_mve, inline)
