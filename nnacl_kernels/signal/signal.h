/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms.
 *
 * dft: x [..., n, ..., 1 or 2] holds real or complex numbers; y[k] = sum over n of x[n] * exp(-2 pi i k n / length)
 * along `axis`, which is not the last dimension. x is cut off or followed by zeros to have `length` numbers; 0: as many
 * as there are. y has 2 in its last dimension and `length` numbers along axis, with `onesided` length / 2 + 1. inverse:
 * with exp(+...), divided by length. inverse and onesided: x are the length / 2 + 1 first numbers of a spectrum whose
 * others mirror them; y is real, 1 in its last dimension; length 0: 2 * (n - 1). Inputs 0 x, [1 length, 2 axis], one
 * s32 or s64 each, which replace the attributes. f32, summed in double.
 */
#ifndef NNACL_SIGNAL_H
#define NNACL_SIGNAL_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_dft_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 2 */
    int32_t length;
    int32_t inverse, onesided;
    /* shapes, derived: `points` numbers are transformed into `bins`, `used` of those along axis count */
    int32_t outer, in_length, used, points, bins, inner, components;
} nnacl_dft_params;

#ifdef __cplusplus
}
#endif

#endif
