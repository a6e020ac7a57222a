/* SPDX-License-Identifier: Apache-2.0 */
/* softmax and log_softmax over one axis. f32: of beta * x, the maximum subtracted first. s8 softmax: inputs 0 x, 1
 * table f32 [256] with table[i] = exp(x_scale * beta * (i - 255)); y (`to`: s8 or s16) =
 * clamp(round_half_away(table[255 + x - max] / (sum * y_scale)) + y_zero), computed in float32 in the order of
 * LiteRT's built-in kernel: the sum in the order of the elements, then the factor 1 / (sum * y_scale), then the
 * products. Under float-even y (s8) = clamp(round_half_even(table[255 + x - max] * (1 / sum) / y_scale) + y_zero).
 * s16 softmax: as LiteRT, in fixed point. Input 1 is s16 [1026]: curves of 513 points of exp over -10 .. 0 and of
 * 1 / (1 + x) over 0 .. 1, in Q0.15; requant(x - max, mult, shift) is the place on the first. y has the scale
 * 2^-15 and zero point 0. s8 log_softmax: input 1 as for s8 softmax; y = clamp(round_half_even(x_scale / y_scale * (x +
 * x_offset) - (x_scale * (max + x_offset) + log(sum)) / y_scale) + y_zero), computed in float32 in the order of
 * LiteRT's built-in kernel, the logarithm rounded once, by every rounding. x_offset is 128 for a model of uint8, else
 * 0. s16 log_softmax: input 1 as for s16 softmax; y = clamp(round_half_even(x_scale / y_scale * (x - max) -
 * log(sum / 2^15) / y_scale) + y_zero), where sum is that of the first curve, exact, and the rest float32.
 */
#ifndef NNACL_SOFTMAX_H
#define NNACL_SOFTMAX_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_softmax_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 1 */
    float beta;   /* f32: exp(beta * x) */
    float y_scale;
    int32_t y_zero;
    int32_t rounding;
    int32_t mult, shift; /* s16 */
    int32_t to;          /* s8 softmax: the type of y */
    /* shapes, derived */
    int32_t outer, depth, inner;
    /* attributes */
    float x_scale; /* s8 and s16 log_softmax */
    int32_t x_offset;
} nnacl_softmax_params;

/* The elements of a sum are neighbours in memory. */
bool nnacl_softmax_accepts_last_axis(const void *params);
/* The same for s8 to s8. */
bool nnacl_softmax_accepts_bytes(const void *params);
/* The same for s16 whose differences, shifted to the left, have 32 bits. */
bool nnacl_softmax_accepts_short_shifts(const void *params);
/* The same for s8 under float-even, for a kernel that takes some rows at once. */
bool nnacl_softmax_accepts_scaled_rows(const void *params);
#define NNACL_SOFTMAX_ROWS 8

#ifdef __cplusplus
}
#endif

#endif
