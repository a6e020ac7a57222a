/* SPDX-License-Identifier: Apache-2.0 */
/* Two-dimensional convolutions of f32, f16, s8 and s16 (with weights of s8). Layouts: activations NHWC; conv2d weights
 * OHWI (I = in_c / groups); depthwise weights 1HWO with O = in_c * multiplier, output channel c * multiplier + m reads
 * input channel c.
 *
 * Inputs: 0 x, 1 weights, 2 bias [out_c] (optional; f32 also for f16, or s32 for integers, s64 for s16), 3 requant
 * (integers only), 4 w_zeros s32 [out_c] (integers only, optional: zero points of the weights in place of w_zero).
 * requant is s32 [2, out_c]: row 0 the Q31 multipliers, row 1 the shifts (positive: left); under the contract
 * float-even it is f32 [out_c]: the scales x_scale * w_scale[c] / y_scale.
 * Output: 0 y. Integers: y = clamp(requant(sum((x - x_zero) * (w - w_zero)) + bias) + y_zero, q_min, q_max);
 * positions in the padding contribute nothing. f32: y = clamp(sum(x * w) + bias, clamp_min, clamp_max).
 * f16: that of f32 rounded, where kernels for arithmetic in half precision sum up to 32 products in f16.
 * s16: sums of 64 bits, which common/requant_wide.h takes; with a bias of s32, as in LiteRT, sums and rounding of s8.
 *
 * conv2d_integer: the sums alone, as s32 (modulo 2^32); x and weights s8 or u8, each by itself. Inputs 0 x, 1 weights
 * (OHWI), 2 x_zero s32 (optional, one element), 3 w_zeros s32 (optional, one element or [out_c]); without them x_zero
 * and w_zero.
 */
#ifndef NNACL_CONV_H
#define NNACL_CONV_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Serves conv2d, conv2d_integer and depthwise_conv2d (where groups is in_c and multiplier is out_c / in_c). */
typedef struct nnacl_conv2d_params {
    /* attributes */
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    int32_t groups;
    float clamp_min, clamp_max;     /* f32 */
    int32_t x_zero, w_zero, y_zero; /* integers */
    int32_t q_min, q_max;
    int32_t rounding; /* NNACL_ROUND_* */
    /* shapes, derived */
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t has_bias;    /* 2: s64 */
    int32_t has_w_zeros; /* conv2d_integer: elements of the input */
    /* conv2d_integer */
    int32_t has_x_zero;
    int32_t x_type, w_type;
} nnacl_conv2d_params;

/* For kernels that compute many output channels at a time: there are many in a group, with one zero point of the
 * weights. */
bool nnacl_conv2d_accepts_panels(const void *params);
/* The same, and that zero point is 0. */
bool nnacl_conv2d_accepts_centred(const void *params);
/* For the kernels of f32 for the first layer of a network: up to four channels, one group, no dilation. */
bool nnacl_conv2d_accepts_few(const void *params);
/* For the kernel of s8 that conv_lines.h describes: a window of more than one tap, one group, no dilation, no zero
 * points of the weights, and rows that go into tiles without much waste. */
bool nnacl_conv2d_accepts_lines(const void *params);
/* For the kernels of f32 by Winograd: they take less time than a direct convolution. */
bool nnacl_conv2d_accepts_winograd_avx512(const void *params);
bool nnacl_conv2d_accepts_winograd_avx2(const void *params);
bool nnacl_conv2d_accepts_winograd_neon(const void *params);
/* For the kernel of conv2d for the DSP extension: one group, several output channels, no zero points of the weights. */
bool nnacl_conv2d_accepts_dsp(const void *params);
bool nnacl_conv2d_accepts_compact_dsp(const void *params);
/* The same for s16, and no zero point of x. */
bool nnacl_conv2d_accepts_s16_dsp(const void *params);
/* For the kernel of conv2d for MVE: one group, no zero points of the weights. */
bool nnacl_conv2d_accepts_mve(const void *params);
/* For the kernel of depthwise_conv2d for the DSP extension: 3 x 3 taps without dilation and a stride of at most 2 along
 * one axis, or at least four channels with one output channel for each; no zero points of the weights. */
bool nnacl_depthwise_accepts_dsp(const void *params);
bool nnacl_depthwise_accepts_compact_dsp(const void *params);
/* For that for MVE: the same with eight channels, and with 3 x 3 taps not very wide. */
bool nnacl_depthwise_accepts_mve(const void *params);
/* For the kernels of f32 for a small floating-point unit: one group without dilation along the width; eight channels
 * with one output channel for each. */
bool nnacl_conv2d_accepts_vfp(const void *params);
bool nnacl_conv2d_accepts_s16_mve(const void *params);
bool nnacl_depthwise_accepts_s16_dsp(const void *params);
bool nnacl_depthwise_accepts_s16_mve(const void *params);
bool nnacl_depthwise_accepts_f32_mve(const void *params);
/* One output channel for each, and few enough taps to sum their products in f16. */
bool nnacl_depthwise_accepts_f16_mve(const void *params);
bool nnacl_depthwise_accepts_vfp(const void *params);
/* For kernels of depthwise_conv2d with one output channel for each input channel, with one zero point of the weights.
 */
bool nnacl_depthwise_accepts_plain(const void *params);
/* The same with at least 16 channels. */
bool nnacl_depthwise_accepts_wide(const void *params);
/* With 0 as that zero point. */
bool nnacl_depthwise_accepts_centred(const void *params);
/* With 3 x 3 taps without dilation, at least 32 channels, and 0 as the zero point of the weights. */
bool nnacl_depthwise_accepts_quads(const void *params);
/* The same, and whole groups of 16 channels. */
bool nnacl_depthwise_accepts_half_blocks(const void *params);

#ifdef __cplusplus
}
#endif

#endif
