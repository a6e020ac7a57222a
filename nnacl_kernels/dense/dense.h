/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products.
 *
 * dense: y[r, n] = x[r, k] . weights[n, k] + bias[n], x any rank >= 1 (all but the last dimension are rows).
 * Inputs 0 x, 1 weights [n, k], 2 bias [n] (optional; f32 or s32), 3 requant (integers only; as in conv.h, with
 * out_c = n), 4 w_zeros (integers only, optional, as in conv.h). Integers, f32 and f16 as in conv.h.
 *
 * matmul: y = a x b over the last two dimensions, leading dimensions broadcast (numpy rules); either operand may be
 * transposed in its last two. Inputs 0 a, 1 b, 2 bias [n] (optional, f32 only). f32, and s32 u32 s64 u64, which wrap.
 * s8 and s16: y = clamp(requant(sum((a - a_zero) * (b - b_zero)), mult, shift) + y_zero, q_min, q_max), under
 * float-even by `scale`. The sums of s8 are s32 (modulo 2^32), those of s16 are s64 (requant: requant_wide.h).
 *
 * matmul_integer: the sums alone, as s32 (modulo 2^32); a and b s8 or u8, each by itself. Inputs 0 a, 1 b, 2 a_zeros, 3
 * b_zeros (optional, s32: one element, or [m] for a, [n] for b; without them a_zero and b_zero).
 *
 * det: the determinants of x [..., n, n]. f32.
 */
#ifndef NNACL_DENSE_H
#define NNACL_DENSE_H

#include "nnacl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnacl_dense_params {
    /* attributes */
    float clamp_min, clamp_max;
    int32_t x_zero, w_zero, y_zero;
    int32_t q_min, q_max;
    int32_t rounding;
    /* shapes, derived */
    int32_t rows, depth, units;
    int32_t has_bias; /* 2: s64 */
    int32_t has_w_zeros;
} nnacl_dense_params;

typedef struct nnacl_matmul_params {
    /* attributes */
    int32_t transpose_a, transpose_b;
    float clamp_min, clamp_max;
    int32_t a_zero, b_zero, y_zero; /* s8 and s16; the first two also of matmul_integer */
    int32_t mult, shift;
    float scale;
    int32_t q_min, q_max;
    int32_t rounding;
    /* shapes, derived */
    int32_t m, k, n;
    int32_t has_bias;
    int32_t a_type, b_type;
    int32_t a_zeros, b_zeros; /* elements of the inputs, 0: absent */
    int32_t batch_rank; /* broadcast leading dimensions: sizes of y, strides of a and b in matrices (0: repeated) */
    int32_t batch_dims[NNACL_MAX_RANK];
    int32_t a_strides[NNACL_MAX_RANK], b_strides[NNACL_MAX_RANK];
} nnacl_matmul_params;

typedef struct nnacl_det_params {
    /* shapes, derived */
    int32_t matrices, n;
} nnacl_det_params;

/* For kernels that read the rows of a as they lie. */
bool nnacl_matmul_accepts_rows(const void *params);
/* The same without zero points, and with columns of b whose elements a vector of 16-bit offsets reaches. */
bool nnacl_matmul_accepts_plain_rows(const void *params);
/* For kernels of dense that know one zero point of the weights. */
bool nnacl_dense_accepts_one_zero(const void *params);
/* The same, and that zero point is 0. */
bool nnacl_dense_accepts_centred(const void *params);
/* For the kernel of s16 for the DSP extension: no zero points, several units, a depth of at least 2. */
bool nnacl_dense_accepts_s16_dsp(const void *params);
bool nnacl_dense_accepts_s16_mve(const void *params);

#ifdef __cplusplus
}
#endif

#endif
