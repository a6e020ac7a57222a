/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of fixed_point.h of whole vectors, for MVE: its rounding high product is that of gemmlowp. */
#ifndef NNACL_FIXED_POINT_MVE_H
#define NNACL_FIXED_POINT_MVE_H

#include "nnacl_base.h"

/* In place. */
void nnacl_logistic_q15_mve(int16_t *values, int32_t count);
void nnacl_tanh_q15_mve(int16_t *values, int32_t count, int32_t integer_bits);

#endif
