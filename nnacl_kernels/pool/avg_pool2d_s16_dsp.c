/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tap_sums_dsp.h"
#include "pool/avg_pool_sums.h"

NNACL_AVG_POOL_SUMS(nnacl_avg_pool2d_s16_dsp, int16_t, NNACL_TAP_LANES_DSP, nnacl_sum_taps_s16_dsp, NNACL_NOINLINE)
