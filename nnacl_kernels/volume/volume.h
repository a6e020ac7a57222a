/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools over one to three spatial dimensions: x is [batch, spatial.., channels], f32 unless said
 * otherwise. Arrays of three hold depth, height, width; with fewer spatial dimensions the first entries are not used:
 * sizes, strides and dilations 1, pads 0.
 *
 * conv3d (three dimensions): weights [kernel.., in_c / groups, out_c]. conv_transpose (f32; s8, s16 with groups 1):
 * weights [kernel.., in_c, out_c / groups]; input position i and kernel position k meet in output position i * stride +
 *   k * dilation - pad_before, of which there are (size - 1) * stride + (kernel - 1) * dilation + 1 - pad_before -
 *   pad_after; pad_after may be negative. Inputs: 0 x, 1 weights, 2 bias, 3 requant, 4 w_zeros; these and the
 * arithmetic are those of conv2d (conv/conv.h). max_pool_nd (f32, s8, u8): the largest element under each window;
 * positions in the padding never count. With with_indices 1 there is output 1, s64, of the shape of y: where the
 * element is in x seen as [batch, channels, spatial..], counted row by row, or with column_major 1 within the spatial
 * dimensions column by column. avg_pool_nd: the mean; positions in the padding count, as zero, only with
 * count_include_pad 1. lp_pool: (sum of |x|^p)^(1/p). Pools with all of kernel 0 have the whole of x as their window.
 * `extra` are positions past pad_after that never count. A window with nothing to count gives 0 (maximum: the lowest
 * value, index 0). max_unpool (any type, any layout): y is zeros but for the elements of x, each at the coordinates
 * that its index has in a tensor of shape `indexed`, as far as y has them. Inputs 0 x, 1 indices (s64, the shape of x),
 * [2 shape], integers that stand for the attribute `shape`. Of several elements with one index the last one stays.
 */
#ifndef NNACL_VOLUME_H
#define NNACL_VOLUME_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_conv_nd_params {
    /* attributes */
    int32_t stride[3], pad_before[3], pad_after[3], dilation[3];
    int32_t groups;
    float clamp_min, clamp_max;     /* f32 */
    int32_t x_zero, w_zero, y_zero; /* integers */
    int32_t q_min, q_max;
    int32_t rounding; /* NNACL_ROUND_* */
    /* derived */
    int32_t batch, in_c, out_c;
    int32_t in_size[3], out_size[3], kernel[3];
    int32_t has_bias; /* 2: s64 */
    int32_t has_w_zeros;
} nnacl_conv_nd_params;

typedef struct nnacl_pool_nd_params {
    /* attributes */
    int32_t kernel[3], stride[3], pad_before[3], pad_after[3], extra[3], dilation[3];
    int32_t count_include_pad;
    int32_t p;
    int32_t with_indices, column_major;
    /* derived */
    int32_t batch, channels;
    int32_t in_size[3], out_size[3], window[3];
} nnacl_pool_nd_params;

typedef struct nnacl_max_unpool_params {
    int32_t indexed[NNACL_MAX_RANK];
    int32_t shape[NNACL_MAX_RANK];
    /* derived */
    int32_t element_size, rank, count;
} nnacl_max_unpool_params;

/* For kernels that compute many output channels at a time: there are many in a group. */
bool nnacl_conv_nd_accepts_panels(const void *params);
bool nnacl_conv_transpose_accepts_rows(const void *params);
/* The same of s8, with weights without zero points. */
bool nnacl_conv_transpose_accepts_columns(const void *params);

#ifdef __cplusplus
}
#endif

#endif
