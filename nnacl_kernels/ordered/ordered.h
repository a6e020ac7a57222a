/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of f32 in the order in which ONNX Runtime adds them, for results that are to be its own to the last bit: its CPU
 * kernels for x86-64 with FMA (AVX2 and AVX-512 do the same), one thread, no optimizations (measured with 1.20
 * and 1.32).
 *
 * The products of a convolution or a matrix are summed in one of three orders, which follows from the sizes:
 *   NNACL_ORDER_BLOCKS  runs of `block` products, each from 0 on by fused multiply-adds; their sums are added
 *
 *   NNACL_ORDER_FOURS   runs of four products (last two and one), rounded and added one by one; so are their sums
 *
 *   NNACL_ORDER_EIGHTS  product k goes to sum k % 8, rounded; how the eight are added depends on where the result lies
 *
 * conv2d_ordered: x NHWC, weights [in_c / groups, kernel_h, kernel_w, out_c], bias [out_c] (optional, added last). The
 * products are in the order of these weights; positions in the padding count as 0.
 *
 * matmul_ordered: a [.., rows, depth], b [depth, columns], where all rows of a are one matrix, or with the dimensions
 * of a before these two; bias [columns] (optional, the sums start with it). The attributes say how the model has them:
 * `transposed`: b as [columns, depth]; `packed`: b is a constant, for which there are other blocks; `vector`: b has one
 * dimension; `a_transposed`: a as [depth, rows], for which there are blocks of one size, or fours for one column.
 *
 * mean_ordered: the mean over the last `trailing` dimensions, or the sum with `sum` 1. `style` 0, as GlobalAveragePool:
 * four sums side by side. 1, as ReduceMean: eight, from the first element on whose place in the tensor divides by four.
 *
 * avg_pool2d_ordered: x NHWC. style 0: windows of whole columns that are added, or row by row, by the sizes; style 1:
 * row by row.
 *
 * sigmoid_ordered, tanh_ordered: quotients of two polynomials, by fused multiply-adds: the approximations of Eigen.
 */
#ifndef NNACL_ORDERED_H
#define NNACL_ORDERED_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_ORDER_BLOCKS 0
#define NNACL_ORDER_FOURS 1
#define NNACL_ORDER_EIGHTS 2

typedef struct nnacl_conv2d_ordered_params {
    /* attributes */
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t dilation_h, dilation_w;
    int32_t groups;
    /* derived */
    int32_t order, block;
    int32_t by_position; /* eights: where the result lies is its row of the output, else its channel of the group */
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t has_bias;
} nnacl_conv2d_ordered_params;

typedef struct nnacl_matmul_ordered_params {
    /* attributes */
    int32_t transposed, packed, vector, a_transposed; /* one of them at most */
    /* derived */
    int32_t order, block;
    int32_t batch, rows, depth, columns; /* one matrix b for each of the batch */
    int32_t has_bias;
} nnacl_matmul_ordered_params;

typedef struct nnacl_mean_ordered_params {
    /* attributes */
    int32_t trailing, keep_dims;
    int32_t style, sum;
    /* derived */
    int32_t rows, count;
} nnacl_mean_ordered_params;

typedef struct nnacl_avg_pool2d_ordered_params {
    /* attributes */
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t count_include_pad;
    int32_t style;
    /* derived */
    int32_t by_columns;
    int32_t batch, in_h, in_w, channels, out_h, out_w;
} nnacl_avg_pool2d_ordered_params;

typedef struct nnacl_function_ordered_params {
    /* derived */
    int32_t count;
} nnacl_function_ordered_params;

#ifdef __cplusplus
}
#endif

#endif
