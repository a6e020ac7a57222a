/* SPDX-License-Identifier: Apache-2.0 */
/* Between real numbers and integers, and between two quantizations.
 *
 * quantize (f32 -> `to`: s8 u8 s16 u16): y = clamp(round(x / scale) + zero); round half away from zero under
 *   tflite-double and single, half to even under float-even; NaN counts as 0. NNACL_ROUND_TFLITE_UP_BY_8 is what LiteRT
 *   does: whole groups of 8 elements take x * (1 / scale), half to even; those past them x / scale in double, half away
 *   from zero.
 * dequantize (s8 u8 s16 u16 s32 -> f32): y = scale * (x - zero).
 *   Of both, scale and zero are attributes, or inputs 1 scales (f32) and 2 zeros (s32, optional) of one shape: one
 *   element for the whole tensor (axis -1); [c] along axis (block 0); or that of x but for ceil(c / block) along axis,
 *   so that `block` neighbours share a number. Where an input is absent the attribute holds.
 *
 * quantize_dynamic (f32 -> outputs 0 y u8, 1 scale f32 [], 2 zero u8 []): ONNX's DynamicQuantizeLinear. The range of x
 *   and 0 in 255 steps, half to even; of zeros alone scale is 1.
 *
 * requantize (s8 u8 s16 s32 -> `to`: s8 u8 s16 s32):
 *   y = clamp(requant(x - x_zero, mult, shift) + y_zero, q_min, q_max);
 *   float-even (not s32): round_half_even((x - x_zero) * scale).
 *
 * conv2d_dynamic, dense_dynamic (f32 x, s8 weights per channel, f32 y): TFLite's hybrid kernels; x is quantized to s8
 *   at run time, for each batch entry of conv2d_dynamic and each row of dense_dynamic: to -127 .. 127 around 0, or with
 *   a zero point (`asymmetric` 1). Inputs 0 x, 1 weights, 2 bias f32 (optional), 3 w_scales f32 [out_c].
 *   y = clamp(sum((x_q - x_zero) * w) * (x_scale * w_scale) + bias); attributes and shapes else as in conv.h, dense.h.
 *
 * conv2d_compressed, dense_compressed (f32 x, f32 y): weights that stay small and are decoded row by row while the
 *   layer runs. Inputs 0 x; 1 weights, a row for each output channel with its `depth` numbers (convolutions: kernel
 *   height, width, input channels of the group); 2 bias f32 (optional); 3 scales f32 [out_c, ceil(depth / group)].
 *   bits 8: weights s8 [out_c, depth]. bits 4: u8 [out_c, ceil(depth / 2)], each byte two numbers plus 8, the first one
 *   in its low half. bits 16: f16 [out_c, depth], no scales. group 0: one scale for a row.
 *   y = clamp(sum(x * (weight * scale)) + bias); attributes and shapes else as in conv.h, dense.h.
 */
#ifndef NNACL_QUANT_H
#define NNACL_QUANT_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_quantize_params {
    float scale;
    int32_t zero;
    int32_t axis; /* -1: per tensor */
    int32_t block;
    int32_t to;
    int32_t rounding;
    /* derived: x as a block of three dimensions, axis in the middle */
    int32_t has_scales, has_zeros;
    int32_t outer, channels, inner;
} nnacl_quantize_params;

typedef struct nnacl_dequantize_params {
    float scale;
    int32_t zero;
    int32_t axis; /* -1: per tensor */
    int32_t block;
    /* derived, as above */
    int32_t from, has_scales, has_zeros;
    int32_t outer, channels, inner;
} nnacl_dequantize_params;

typedef struct nnacl_quantize_dynamic_params {
    /* derived */
    int32_t count;
} nnacl_quantize_dynamic_params;

typedef struct nnacl_requantize_params {
    int32_t to;
    int32_t x_zero, y_zero, mult, shift;
    float scale; /* x_scale / y_scale */
    int32_t q_min, q_max;
    int32_t rounding;
    /* derived */
    int32_t from, count;
} nnacl_requantize_params;

typedef struct nnacl_conv2d_dynamic_params {
    /* attributes */
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    int32_t groups;
    float clamp_min, clamp_max;
    int32_t asymmetric;
    /* shapes, derived */
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t has_bias;
} nnacl_conv2d_dynamic_params;

typedef struct nnacl_dense_dynamic_params {
    /* attributes */
    float clamp_min, clamp_max;
    int32_t asymmetric;
    /* shapes, derived */
    int32_t rows, depth, units;
    int32_t has_bias;
} nnacl_dense_dynamic_params;

typedef struct nnacl_conv2d_compressed_params {
    /* attributes */
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    int32_t groups;
    int32_t kernel_h, kernel_w;
    float clamp_min, clamp_max;
    int32_t bits, group;
    /* shapes, derived */
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t has_bias;
} nnacl_conv2d_compressed_params;

typedef struct nnacl_dense_compressed_params {
    /* attributes */
    float clamp_min, clamp_max;
    int32_t bits, group;
    /* shapes, derived */
    int32_t rows, depth, units;
    int32_t has_bias;
} nnacl_dense_compressed_params;

/* For the kernel of conv2d_dynamic for the DSP extension: one group, several output channels. */
bool nnacl_conv2d_dynamic_accepts_dsp(const void *params);

#ifdef __cplusplus
}
#endif

#endif
