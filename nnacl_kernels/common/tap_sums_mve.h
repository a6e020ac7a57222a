/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NNACL_TAP_SUMS_MVE_H
#define NNACL_TAP_SUMS_MVE_H

#include "common/tap_sums.h"

/* nnacl_sum_taps. */
void nnacl_sum_taps_mve(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums);

/* The same of at most NNACL_TAP_HALVES lanes of s16. */
void nnacl_sum_taps_s16_mve(const nnacl_taps *t, int32_t channel, int32_t lanes, int32_t *sums);

#endif
