/* Matrix products.
 *
 * dense: y[r, n] = x[r, k] . weights[n, k] + bias[n], x any rank >= 1 (all but the last dimension are rows).
 * Inputs 0 x, 1 weights [n, k], 2 bias [n] (optional; f32 or s32), 3 requant (integers only; as in conv.h, with
 * out_c = n). Integers and f32 as in conv.h.
 *
 * matmul: y = a x b over the last two dimensions, leading dimensions broadcast (numpy rules); either operand may be
 * transposed in its last two. Inputs 0 a, 1 b, 2 bias [n] (optional, f32 only). f32, and s32 u32 s64 u64, which wrap.
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
    int32_t has_bias;
} nnacl_dense_params;

typedef struct nnacl_matmul_params {
    /* attributes */
    int32_t transpose_a, transpose_b;
    float clamp_min, clamp_max;
    /* shapes, derived */
    int32_t m, k, n;
    int32_t has_bias;
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

#ifdef __cplusplus
}
#endif

#endif
