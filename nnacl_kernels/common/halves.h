/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of halves, for kernels that compute in f32. */
#ifndef NNACL_HALVES_H
#define NNACL_HALVES_H

#include "common/half.h"
#include "nnacl_base.h"

/* sum + a[0] * b[0] + a[1] * b[1] + ...; f32 holds each product exactly. */
float nnacl_add_half_products(float sum, const uint16_t *a, const uint16_t *b, int32_t count);

#endif
