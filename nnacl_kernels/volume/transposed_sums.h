/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a transposed convolution of integers, which differ in their types only. */
#ifndef NNACL_TRANSPOSED_SUMS_H
#define NNACL_TRANSPOSED_SUMS_H

#include "volume/volume_walk.h"

/* Defines `name`, which adds all that meets in one output position to the sums of its channels: name##_tap() adds what
 * one tap contributes. `w_zeros` may be NULL. */
#define NNACL_TRANSPOSED_WALK(name, element, sum)                                                                      \
    static void name(sum *sums, const element *x, const int8_t *weights, const int32_t *w_zeros, nnacl_volume_row at,  \
                     int32_t column, const nnacl_conv_nd_params *p) {                                                  \
        const ptrdiff_t tap_size = (ptrdiff_t)p->in_c * p->out_c;                                                      \
        for (int32_t kz = 0; kz < p->kernel[0]; kz++) {                                                                \
            const int32_t z = nnacl_transposed_source(p, 0, at.depth, kz);                                             \
            for (int32_t ky = 0; z >= 0 && ky < p->kernel[1]; ky++) {                                                  \
                const int32_t y = nnacl_transposed_source(p, 1, at.height, ky);                                        \
                for (int32_t kx = 0; y >= 0 && kx < p->kernel[2]; kx++) {                                              \
                    const int32_t from = nnacl_transposed_source(p, 2, column, kx);                                    \
                    if (from >= 0) {                                                                                   \
                        name##_tap(sums, x + nnacl_volume_input(p, at.batch, z, y, from),                              \
                                   weights + nnacl_volume_tap(p, kz, ky, kx) * tap_size, w_zeros, p);                  \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* The same with the tap in plain C. The sums wrap: `wide` is the unsigned type of a sum. So do the products with zero
 * points of a tensor, which may be any numbers. */
#define NNACL_TRANSPOSED_SUMS(name, element, sum, wide)                                                                \
    static void name##_tap(sum *restrict sums, const element *restrict x, const int8_t *restrict weights,              \
                           const int32_t *w_zeros, const nnacl_conv_nd_params *p) {                                    \
        for (int32_t ic = 0; ic < p->in_c; ic++) {                                                                     \
            const int32_t a = x[ic] - p->x_zero;                                                                       \
            const int8_t *w = weights + (ptrdiff_t)ic * p->out_c;                                                      \
            for (int32_t oc = 0; oc < p->out_c && !w_zeros; oc++) {                                                    \
                sums[oc] = (sum)((wide)sums[oc] + (wide)(a * (w[oc] - p->w_zero)));                                    \
            }                                                                                                          \
            for (int32_t oc = 0; w_zeros && oc < p->out_c; oc++) {                                                     \
                const int32_t product = (int32_t)((uint32_t)a * ((uint32_t)w[oc] - (uint32_t)w_zeros[oc]));            \
                sums[oc] = (sum)((wide)sums[oc] + (wide)product);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    NNACL_TRANSPOSED_WALK(name, element, sum)

#endif
