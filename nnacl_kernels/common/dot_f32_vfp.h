/* SPDX-License-Identifier: Apache-2.0 */
/* nnacl_dot_f32() (lane_sums.h) for a floating-point unit of single precision: the same sums in the same order. */
#ifndef NNACL_DOT_F32_VFP_H
#define NNACL_DOT_F32_VFP_H

#include "nnacl_base.h"

float nnacl_dot_f32_vfp(const float *a, const float *b, int32_t count);

#endif
