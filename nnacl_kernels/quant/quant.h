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
 * conv2d_compressed, dense_compressed (f32 x and y, or s8 x and y): weights that stay small and are decoded while the
 *   layer runs. Inputs 0 x; 1 weights, a row for each output channel with its `depth` numbers (convolutions: kernel
 *   height, width, input channels of the group); 2 bias (optional; f32, or s32 with s8); 3 scales f32
 *   [out_c, ceil(depth / group)], or with s8 requant as in conv.h.
 *   bits 1, 2, 4: u8 [out_c, ceil(depth * bits / 8)], codes one after the other, the first in the lowest bits; the
 *   weight of a code is offset + step * code; with step 0 (4 bits only) it is code - 8. What is left of the last byte
 *   of a row says nothing. f32 only: bits 8: s8 [out_c, depth]; bits 16: f16 [out_c, depth], no scales.
 *   bfloat (bits 16 only) NNACL_BFLOAT_WEIGHTS: the weights are bfloat16, the upper halves of f32, in u16 [out_c,
 *   depth]; NNACL_BFLOAT_PRODUCTS: x is rounded to bfloat16 too, half to even. Subnormal numbers of bfloat16 are 0. f32
 *   holds a product of two exactly; the sums are f32, in any order.
 *   group 0: one scale for a row.
 *   f32: y = clamp(sum(x * (scale * weight)) + bias), summed in the order of the row.
 *   s8: y = clamp(requant(sum((x - x_zero) * weight) + bias) + y_zero, q_min, q_max), sums modulo 2^32.
 *   Attributes and shapes else as in conv.h, dense.h.
 */
#ifndef NNACL_QUANT_H
#define NNACL_QUANT_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of 16 bits: halves, weights of bfloat16, or weights and inputs. */
#define NNACL_BFLOAT_NONE 0
#define NNACL_BFLOAT_WEIGHTS 1
#define NNACL_BFLOAT_PRODUCTS 2

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
    /* attributes */
    int32_t offset, step;
    int32_t x_zero, y_zero; /* s8 */
    int32_t q_min, q_max;
    int32_t rounding;
    int32_t bfloat;
} nnacl_conv2d_compressed_params;

typedef struct nnacl_dense_compressed_params {
    /* attributes */
    float clamp_min, clamp_max;
    int32_t bits, group;
    /* shapes, derived */
    int32_t rows, depth, units;
    int32_t has_bias;
    /* attributes, as above */
    int32_t offset, step;
    int32_t x_zero, y_zero;
    int32_t q_min, q_max;
    int32_t rounding;
    int32_t bfloat;
} nnacl_dense_compressed_params;

/* For the kernel of conv2d_dynamic for the DSP extension: one group, several output channels. */
bool nnacl_conv2d_dynamic_accepts_dsp(const void *params);
/* For the kernels of conv2d_compressed and dense_compressed for the DSP extension: one group, several channels. */
bool nnacl_conv2d_compressed_accepts_dsp(const void *params);
bool nnacl_dense_compressed_accepts_dsp(const void *params);
/* For that of conv2d_compressed with one output channel for each of at least four input channels. */
bool nnacl_conv2d_compressed_accepts_depthwise(const void *params);
/* For those for MVE: one group, 2 or 4 bits and step 0 or 1; or one output channel for each input channel. */
bool nnacl_conv2d_compressed_accepts_mve(const void *params);
bool nnacl_dense_compressed_accepts_mve(const void *params);
bool nnacl_conv2d_compressed_accepts_depthwise_mve(const void *params);
/* For those for AVX2: one group, whole words of weights share a scale, and not 8 bits with one for each channel. */
bool nnacl_conv2d_compressed_accepts_words(const void *params);
bool nnacl_dense_compressed_accepts_words(const void *params);
/* For those that decode panels of 8 bits: one group, one scale for each channel. */
bool nnacl_conv2d_compressed_accepts_bytes(const void *params);
bool nnacl_dense_compressed_accepts_bytes(const void *params);
/* For those that multiply bfloat16: one group. */
bool nnacl_conv2d_compressed_accepts_bfloat(const void *params);
bool nnacl_dense_compressed_accepts_bfloat(const void *params);

/* For the kernel of quantize that knows one scale, bytes, and rounding by the machine. */
bool nnacl_quantize_accepts_bytes(const void *params);
bool nnacl_quantize_accepts_tensor_s8(const void *params);
bool nnacl_dequantize_accepts_tensor(const void *params);

/* For the kernel of requantize that looks bytes up. */
bool nnacl_requantize_accepts_table(const void *params);

#ifdef __cplusplus
}
#endif

#endif
