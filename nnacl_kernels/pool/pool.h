/* SPDX-License-Identifier: Apache-2.0 */
/* Two-dimensional pooling over NHWC. max_pool2d and avg_pool2d: f32, s8 and s16, max_pool2d also u8 (integers keep the
 * quantization of x; the average rounds half away from zero, or half up with halves_up 1, as TFLite's uint8 models do.
 * Under float-even the average has a scale and zero point of its own: y = clamp(round_half_even(sum(x - x_zero) * scale
 * / divisor) + y_zero) with scale = x_scale / y_scale). Positions in the padding never count for the maximum; for the
 * average they count as zero (s8: as the zero point) in the divisor only when count_include_pad is 1. ceil_mode is
 * settled at conversion by extra_bottom / extra_right: positions beyond the explicit padding that never count in the
 * divisor. A window with nothing to count gives clamp_min / q_min (maximum) or 0 / x_zero (average). Inputs: 0 x.
 * Output: 0 y.
 */
#ifndef NNACL_POOL_H
#define NNACL_POOL_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_pool2d_params {
    /* attributes */
    int32_t kernel_h, kernel_w; /* 0: the whole plane (global pooling) */
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t extra_bottom, extra_right;
    int32_t dilation_h, dilation_w;
    int32_t count_include_pad;
    float clamp_min, clamp_max;
    int32_t q_min, q_max;
    int32_t x_zero;
    int32_t halves_up;
    int32_t y_zero;
    float scale;
    int32_t rounding;
    /* shapes, derived */
    int32_t batch, in_h, in_w, channels, out_h, out_w;
} nnacl_pool2d_params;

/* At least four channels, or two. */
bool nnacl_pool2d_accepts_quads(const void *params);
bool nnacl_pool2d_accepts_pairs(const void *params);

#ifdef __cplusplus
}
#endif

#endif
