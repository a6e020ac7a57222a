/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over floats for a floating-point unit of single precision with 32 registers. `count` is 0 or more. y may be an
 * operand. */
#ifndef NNACL_VECTORS_F32_VFP_H
#define NNACL_VECTORS_F32_VFP_H

#include "nnacl_base.h"

void nnacl_add_vectors_vfp(const float *a, const float *b, float *y, int32_t count);
void nnacl_sub_vectors_vfp(const float *a, const float *b, float *y, int32_t count);
void nnacl_mul_vectors_vfp(const float *a, const float *b, float *y, int32_t count);
/* With *b in place of b. */
void nnacl_add_scalar_vfp(const float *a, const float *b, float *y, int32_t count);
void nnacl_sub_scalar_vfp(const float *a, const float *b, float *y, int32_t count);
void nnacl_mul_scalar_vfp(const float *a, const float *b, float *y, int32_t count);
/* y += a * *b. */
void nnacl_add_scaled_vfp(const float *a, const float *b, float *y, int32_t count);
/* *b - a. */
void nnacl_sub_from_scalar_vfp(const float *a, const float *b, float *y, int32_t count);

#endif
