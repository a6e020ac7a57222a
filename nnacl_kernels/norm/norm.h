/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations. f32, layer_norm also of s8 and s16, l2_norm of s8 alone.
 *
 * layer_norm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias over the dimensions from `axis` on. Inputs 0 x,
 *   1 scale, 2 bias (both optional, of the shape x.dims[axis ..]). Outputs y and, with with_statistics, the mean and
 *   the factor 1 / sqrt(variance + epsilon), in which the dimensions from `axis` on are 1.
 * rms_norm: y = x / sqrt(mean of x^2 + epsilon) * scale. Inputs 0 x, 1 scale (optional).
 * group_norm: x [n, ..., c] with channels last. Each sample and each of `groups` runs of c / groups channels is brought
 *   to mean 0 and variance 1 (epsilon as above), then y = that * scale[c] + bias[c]. Inputs 0 x, 1 scale, 2 bias (both
 *   optional). One channel per group is an instance normalization.
 * lrn: y = x * (bias + alpha * sum of x^2 over the channels c - before .. c + after that exist)^-beta; the last
 *   dimension holds the channels.
 *
 * l2_norm (s8): y = x / sqrt(sum of x^2 over the last dimension), in 128ths, without the zero point of x; as LiteRT's
 *   fixed point, whose factor is nnacl_inverse_root (common/inverse_root.h). The 128 is part of the factor, as LiteRT
 * has it for int8, or with scaled_first that of x, as for uint8; they round apart. At most 33,025 elements in a row.
 *
 * The variance is the mean of the squared distances from the mean.
 *
 * layer_norm of s8 or s16, with scale and bias in f32 and without statistics: sum and sum of squares are exact
 * integers, mean and factor = x_scale / sqrt(variance * x_scale^2 + epsilon) are computed in double and rounded to
 * float; y = clamp(round(((x - mean) * factor * scale + bias) / y_scale) + y_zero) in float, halves to even under
 * float-even, else away from zero. At most 2^20 elements of s8, or 2^16 of s16, are normalized together.
 */
#ifndef NNACL_NORM_H
#define NNACL_NORM_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_norm_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 1 */
    float epsilon;
    int32_t with_statistics; /* layer_norm only */
    /* shapes, derived */
    int32_t rows, depth;
    int32_t has_scale, has_bias;
    /* attributes */
    float x_scale, y_scale; /* s8 */
    int32_t y_zero;
    int32_t rounding;
} nnacl_norm_params;

typedef struct nnacl_group_norm_params {
    /* attributes */
    int32_t groups;
    float epsilon;
    /* shapes, derived */
    int32_t batch, positions, channels;
    int32_t has_scale, has_bias;
} nnacl_group_norm_params;

typedef struct nnacl_lrn_params {
    /* attributes */
    int32_t before, after;
    float alpha, beta, bias;
    /* shapes, derived */
    int32_t rows, channels;
} nnacl_lrn_params;

typedef struct nnacl_l2_norm_params {
    /* attributes */
    int32_t x_zero;
    int32_t scaled_first; /* 0, 1 */
    /* shapes, derived */
    int32_t rows, depth;
} nnacl_l2_norm_params;

#ifdef __cplusplus
}
#endif

#endif
