/* SPDX-License-Identifier: Apache-2.0 */
/* nnacl_dot_f32() (lane_sums.h) for MVE with floats: the same lanes, but products are added without being rounded. */
#ifndef NNACL_DOT_F32_MVE_H
#define NNACL_DOT_F32_MVE_H

#include "nnacl_base.h"

float nnacl_dot_f32_mve(const float *a, const float *b, int32_t count);

#endif
