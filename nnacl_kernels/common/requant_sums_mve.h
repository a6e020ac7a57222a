/* SPDX-License-Identifier: Apache-2.0 */
/* Sums become bytes or halves (requant.h), four at a time. */
#ifndef NNACL_REQUANT_SUMS_MVE_H
#define NNACL_REQUANT_SUMS_MVE_H

#include "nnacl_base.h"

/* With the requant input of convolutions and dense (conv.h), a row for each channel. */
void nnacl_requant_channels_mve(const int32_t *sums, const void *requant, int32_t channels, int32_t rounding,
                                int32_t zero, int32_t q_min, int32_t q_max, int8_t *y);

/* With one multiplier and shift; no float-even. */
void nnacl_requant_sums_mve(const int32_t *sums, int32_t count, int32_t mult, int32_t shift, int32_t rounding,
                            int32_t zero, int32_t q_min, int32_t q_max, int8_t *y);
void nnacl_requant_halves_mve(const int32_t *sums, int32_t count, int32_t mult, int32_t shift, int32_t rounding,
                              int32_t zero, int32_t q_min, int32_t q_max, int16_t *y);

/* Under float-even, with one scale. */
void nnacl_scale_sums_mve(const int32_t *sums, int32_t count, float scale, int32_t zero, int32_t q_min, int32_t q_max,
                          int8_t *y);
void nnacl_scale_halves_mve(const int32_t *sums, int32_t count, float scale, int32_t zero, int32_t q_min, int32_t q_max,
                            int16_t *y);

#endif
