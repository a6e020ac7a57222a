/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products along one axis.
 *
 * cumsum, cumprod: y[i] = x[0] + ... + x[i] (or the product) along `axis`; with `exclusive` without x[i] itself, so
 * that it begins with 0 (or 1); with `reverse` from the end. Inputs 0 x, 1 axis s32 or s64, one element (optional,
 * replaces the attribute; may be negative). f32; s32 s64 u32 u64, which wrap.
 */
#ifndef NNACL_CUMULATIVE_H
#define NNACL_CUMULATIVE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_cumulative_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 1 */
    int32_t exclusive, reverse;
    /* shapes, derived */
    int32_t outer, depth, inner;
} nnacl_cumulative_params;

#ifdef __cplusplus
}
#endif

#endif
