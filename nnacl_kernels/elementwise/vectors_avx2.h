/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of elementwise f32 kernels over vectors of eight. What is left of a row goes through masked loads and
 * stores, which touch nothing beyond it. */
#ifndef NNACL_VECTORS_AVX2_H
#define NNACL_VECTORS_AVX2_H

#include "common/lanes_avx2.h"
#include "elementwise/broadcast.h"
#include "elementwise/elementwise.h"

/* nnacl_clamp_f32() */
static inline __m256 nnacl_clamp_avx2(__m256 value, __m256 low, __m256 high) {
    return _mm256_min_ps(high, _mm256_max_ps(low, value));
}

/* As NNACL_UNARY_KERNEL; `expression` computes eight y from v, alpha and beta. */
#define NNACL_UNARY_KERNEL_AVX2(symbol, expression)                                                                    \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_unary_params *p = params;                                                                          \
        const float *x = in[0];                                                                                        \
        float *y = out[0];                                                                                             \
        const __m256 alpha = _mm256_set1_ps(p->alpha);                                                                 \
        const __m256 beta = _mm256_set1_ps(p->beta);                                                                   \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        const nnacl_range share = nnacl_share(ctx, p->count);                                                          \
        for (int32_t i = share.begin; i < share.end; i += 8) {                                                         \
            const __m256 v = nnacl_load_avx2(x + i, share.end - i);                                                    \
            nnacl_store_avx2(y + i, expression, share.end - i);                                                        \
        }                                                                                                              \
    }

/* As NNACL_BROADCAST_KERNEL over nnacl_binary_params; `expression` computes eight y from a and b, which are clamped. */
#define NNACL_BINARY_KERNEL_AVX2(symbol, expression)                                                                   \
    NNACL_DECLARE(symbol);                                                                                             \
    void symbol(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {                 \
        const nnacl_binary_params *p = params;                                                                         \
        const __m256 low = _mm256_set1_ps(p->clamp_min);                                                               \
        const __m256 high = _mm256_set1_ps(p->clamp_max);                                                              \
        const bool one_a = p->a_strides[p->rank - 1] == 0;                                                             \
        const bool one_b = p->b_strides[p->rank - 1] == 0;                                                             \
        const nnacl_walk walk = nnacl_walk_rows(ctx, p->rank, p->dims);                                                \
        for (int32_t row = walk.row; row < walk.last_row; row++) {                                                     \
            const float *a_row = (const float *)in[0] + nnacl_walk_offset(row, p->rank, p->dims, p->a_strides);        \
            const float *b_row = (const float *)in[1] + nnacl_walk_offset(row, p->rank, p->dims, p->b_strides);        \
            float *y = (float *)out[0] + (ptrdiff_t)row * walk.width;                                                  \
            for (int32_t i = walk.begin; i < walk.end; i += 8) {                                                       \
                const int32_t count = walk.end - i;                                                                    \
                const __m256 a = one_a ? _mm256_broadcast_ss(a_row) : nnacl_load_avx2(a_row + i, count);               \
                const __m256 b = one_b ? _mm256_broadcast_ss(b_row) : nnacl_load_avx2(b_row + i, count);               \
                nnacl_store_avx2(y + i, nnacl_clamp_avx2(expression, low, high), count);                               \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
