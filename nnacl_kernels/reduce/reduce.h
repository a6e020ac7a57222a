/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any set of axes: reduce_mean reduce_sum reduce_max reduce_min reduce_prod (f32 f64; all but
 * reduce_mean also s32 s64 u64, wrapping; all also s8 and s16). Inputs: 0 x, [1 axes: s32 or s64,
 * stands for the attribute; without elements it means all axes, or none where noop_if_empty is 1]. The maximum and
 * minimum of floats: NaN wins; of no elements they are the least and the largest value of the type. The mean of none is
 * NaN. s8 mean and sum: y = clamp(requant(sum(x - x_zero), mult, shift) + y_zero), the divisor folded into mult
 * (tflite-double: as LiteRT does, with n = 63 - leading zeros of the 64-bit count, mult = (mult << n) / count and shift
 * -= n). y_zero need not be a zero point: a kernel of LiteRT sums x without x_zero and takes it off the result. s8
 * prod, as LiteRT does, not under float-even: p = x - x_zero of the first element, then p = requant_wide(p * (x -
 * x_zero), mult, shift) with each further one in their order; y = clamp(requant_wide(p, mult, shift) + y_zero). argmax
 * and argmin (f32 f64 s8 u8 s32 s64 u64 -> `to`: s32 or s64): position along one axis; the first of equals, or the last
 * when select_last is 1. A NaN counts as neither larger nor smaller.
 */
#ifndef NNACL_REDUCE_H
#define NNACL_REDUCE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_reduce_params {
    /* attributes */
    int32_t axes; /* bit i: axis i is reduced */
    int32_t keep_dims;
    int32_t x_zero, y_zero, mult, shift, q_min, q_max, rounding;
    float scale; /* float-even: x_scale / y_scale / count (sum: x_scale / y_scale) */
    /* shapes, derived; neighbours of one kind are merged */
    int32_t rank;
    int32_t dims[NNACL_MAX_RANK];
    int32_t reduced; /* bit i: merged dimension i is reduced */
    /* attribute */
    int32_t noop_if_empty;
} nnacl_reduce_params;

typedef struct nnacl_arg_params {
    /* attributes */
    int32_t axis; /* 0 .. rank - 1 */
    int32_t keep_dims;
    int32_t select_last;
    int32_t to; /* NNACL_S32 or NNACL_S64 */
    /* shapes, derived */
    int32_t outer, depth, inner;
} nnacl_arg_params;

/* For kernels that go over the middle of three dimensions, or the first of two, and compute neighbours together. */
bool nnacl_reduce_accepts_columns(const void *params);

#ifdef __cplusplus
}
#endif

#endif
