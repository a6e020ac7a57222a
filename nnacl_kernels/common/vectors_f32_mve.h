/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over floats for MVE. `count` is 0 or more. y may be an operand. */
#ifndef NNACL_VECTORS_F32_MVE_H
#define NNACL_VECTORS_F32_MVE_H

#include "nnacl_base.h"

void nnacl_add_vectors_mve(const float *a, const float *b, float *y, int32_t count);
void nnacl_sub_vectors_mve(const float *a, const float *b, float *y, int32_t count);
/* With *b in place of b. */
void nnacl_add_scalar_mve(const float *a, const float *b, float *y, int32_t count);
void nnacl_sub_scalar_mve(const float *a, const float *b, float *y, int32_t count);
/* y += a * *b. */
void nnacl_add_scaled_mve(const float *a, const float *b, float *y, int32_t count);
/* *b - a. */
void nnacl_sub_from_scalar_mve(const float *a, const float *b, float *y, int32_t count);

/* y = x within limits[0] .. limits[1]; NaN stays NaN. */
void nnacl_clamp_vectors_mve(const float *x, const float limits[2], float *y, int32_t count);

#endif
