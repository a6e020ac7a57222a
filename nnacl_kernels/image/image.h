/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that sample images at places between their elements. Interpolation in f32; bilinear unless said otherwise.
 *
 * resize: every dimension i of x is sampled at y.dims[i] places. Inputs 0 x, [1 roi, 2 scales (f32), 3 sizes], which
 * stand for attributes: an entry for each of the axes axes[0 .. n_axes - 1], or for all dimensions where n_axes is 0;
 * roi has all beginnings, then all ends; empty ones count as absent. Where size[i] >= 0 it is the size of y, else that
 * is floor(x.dims[i] * scale[i]). aspect 1 or 2: the smallest or largest of the ratios size / x.dims holds for all
 * sized dimensions. transform says which place of x belongs to position o of y, nearest_mode how mode nearest rounds
 * it. cubic_a, exclude_outside (weights outside of x are 0, the others grow), antialias (a wider window where y is
 * smaller) and extrapolation (the value outside of roi, transform CROP only) are those of ONNX. stepwise 1: places are
 * multiples of a step x / y, as TFLite computes them, instead of quotients. Mode nearest serves any type; the others
 * f32, and s8, u8, s16 (y has the quantization of x), which arithmetic NNACL_RESIZE_EVEN rounds from f32 sums, halves
 * to even; _FIXED computes in 10 fractional bits, halves away from zero, and _UNSIGNED as f32 sums of x + 128, halves
 * up (both as LiteRT, mode linear, stepwise). roi_align: x [batch, height, width, channels], rois [n, 4] (left, top,
 * right, bottom), batch indices s32 or s64 [n]; y [n, out_h, out_w, channels]. Of each cell the mean (maximum 0) or the
 * largest weighted neighbour (maximum 1) of sampling x sampling samples (0: as many as elements). half_pixel 1:
 * coordinates are shifted by one half and regions may be smaller than 1. max_roi_pool: x as above, rois [n, 5]: batch
 * and corners, rounded to whole elements; the maximum of each cell. grid_sample: x [batch, spatial.., channels], grid
 * [batch, out.., 2 or 3]: places in -1 .. 1, width first; y [batch, out.., channels]. mode 0 nearest (halves to even),
 * 1 linear, 2 cubic (two dimensions). padding 0 zeros, 1 the border, 2 reflections. align_corners 1: -1 and 1 are the
 * centres of the first and last element, else their outer edges. affine_grid: theta [batch, 2, 3] or [batch, 3, 4]: the
 * grid [batch, out.., 2 or 3] of the places that theta sends the grid of the identity to. Inputs 0 theta, [1 size]:
 * batch, channels and spatial sizes, for the attribute size. deform_conv: a convolution as conv2d whose taps are each
 * moved by an offset. Inputs 0 x [batch, height, width, in_c], 1 weights [kernel.., in_c / groups, out_c], 2 offset
 * [batch, out.., offset_groups * taps * 2 (down, right)], [3 bias [out_c], 4 mask [batch, out.., offset_groups *
 * taps]], a factor for each tap. Places outside of x count as 0. col2im: x [batch, channels * taps, positions] summed
 * up as [batch, channels, spatial..] where the taps of neighbouring positions of a window overlap. Inputs 0 x, [1 sizes
 * of y, 2 sizes of the window], for the attributes size and kernel.
 */
#ifndef NNACL_IMAGE_H
#define NNACL_IMAGE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_RESIZE_NEAREST 0
#define NNACL_RESIZE_LINEAR 1
#define NNACL_RESIZE_CUBIC 2

/* With s the scale, n and m the sizes of x and y (m as scaled, before it is rounded down): */
#define NNACL_RESIZE_HALF_PIXEL 0           /* (o + 1/2) / s - 1/2 */
#define NNACL_RESIZE_HALF_PIXEL_SYMMETRIC 1 /* the same, the centre of y lying on that of x */
#define NNACL_RESIZE_PYTORCH_HALF_PIXEL 2   /* the same, 0 where m is 1 */
#define NNACL_RESIZE_ALIGN_CORNERS 3        /* o * (n - 1) / (m - 1), 0 where m is 1 */
#define NNACL_RESIZE_ASYMMETRIC 4           /* o / s */
#define NNACL_RESIZE_HALF_PIXEL_FOR_NN 5    /* (o + 1/2) / s */
#define NNACL_RESIZE_CROP 6                 /* from begin to end of roi, in units of n - 1 */

#define NNACL_RESIZE_PREFER_FLOOR 0
#define NNACL_RESIZE_PREFER_CEIL 1
#define NNACL_RESIZE_FLOOR 2
#define NNACL_RESIZE_CEIL 3

#define NNACL_RESIZE_EVEN 0
#define NNACL_RESIZE_FIXED 1
#define NNACL_RESIZE_UNSIGNED 2

typedef struct nnacl_resize_params {
    int32_t mode, transform, nearest_mode, aspect;
    int32_t antialias, exclude_outside;
    float cubic_a, extrapolation;
    int32_t stepwise, arithmetic;
    float scale[NNACL_MAX_RANK];
    int32_t size[NNACL_MAX_RANK];
    float roi_begin[NNACL_MAX_RANK], roi_end[NNACL_MAX_RANK];
    int32_t n_axes;
    int32_t axes[NNACL_MAX_RANK];
    /* derived: x and y have `rank` dimensions of blocks of `block` elements. Dimension i is sampled at `taps` elements
     * for each of its `to` positions; `factor` is the scale, `length` the size of y before it is rounded down. */
    int32_t element_size, block, rank;
    int32_t fill[2]; /* the bytes of extrapolation */
    int32_t from[NNACL_MAX_RANK], to[NNACL_MAX_RANK], taps[NNACL_MAX_RANK];
    float factor[NNACL_MAX_RANK], length[NNACL_MAX_RANK];
    float begin[NNACL_MAX_RANK], end[NNACL_MAX_RANK];
} nnacl_resize_params;

/* For kernels of mode nearest, and of the others. */
bool nnacl_resize_picks(const void *params);
bool nnacl_resize_interpolates(const void *params);
/* For those that make each element of four in fixed point. */
bool nnacl_resize_blends(const void *params);

typedef struct nnacl_roi_align_params {
    int32_t out_h, out_w;
    int32_t sampling;
    float spatial_scale;
    int32_t half_pixel, maximum;
    /* derived */
    int32_t index_size, rois, batch, height, width, channels;
} nnacl_roi_align_params;

typedef struct nnacl_max_roi_pool_params {
    int32_t out_h, out_w;
    float spatial_scale;
    /* derived */
    int32_t rois, batch, height, width, channels;
} nnacl_max_roi_pool_params;

#define NNACL_GRID_NEAREST 0
#define NNACL_GRID_LINEAR 1
#define NNACL_GRID_CUBIC 2

#define NNACL_GRID_ZEROS 0
#define NNACL_GRID_BORDER 1
#define NNACL_GRID_REFLECTION 2

typedef struct nnacl_grid_sample_params {
    int32_t mode, padding, align_corners;
    /* derived: depth, height, width of x; the depth is 1 with two dimensions */
    int32_t batch, channels, places, spatial;
    int32_t size[3];
} nnacl_grid_sample_params;

typedef struct nnacl_affine_grid_params {
    int32_t size[5]; /* batch, channels, then depth, height, width or height, width */
    int32_t align_corners;
    /* derived */
    int32_t spatial;
} nnacl_affine_grid_params;

typedef struct nnacl_deform_conv_params {
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    int32_t groups, offset_groups;
    /* derived */
    int32_t batch, in_h, in_w, in_c, out_h, out_w, out_c, kernel_h, kernel_w;
    int32_t has_bias, has_mask;
} nnacl_deform_conv_params;

typedef struct nnacl_col2im_params {
    int32_t size[3], kernel[3], stride[3], pad_before[3], pad_after[3], dilation[3]; /* the last entries count */
    int32_t spatial;
    /* derived */
    int32_t planes;
    int32_t positions[3];
} nnacl_col2im_params;

#ifdef __cplusplus
}
#endif

#endif
