/* SPDX-License-Identifier: Apache-2.0 */
/* As fused_loops.h, over vectors of eight. */
#ifndef NNACL_FUSED_LOOPS_AVX2_H
#define NNACL_FUSED_LOOPS_AVX2_H

#include "elementwise/fused_walk.h"
#include "elementwise/simple_f32_avx2.h"

/* `expression` computes eight y from v, alpha and beta. */
#define NNACL_FUSED_UNARY_LOOP(op, expression)                                                                         \
    static inline void op##_loop(int32_t count, const nnacl_fused_operand *operands, float *y) {                       \
        const float *x = operands[0].data;                                                                             \
        const __m256 alpha = _mm256_broadcast_ss(operands[1].data);                                                    \
        const __m256 beta = _mm256_broadcast_ss(operands[2].data);                                                     \
        (void)alpha;                                                                                                   \
        (void)beta;                                                                                                    \
        int32_t i = 0;                                                                                                 \
        for (; i + 32 <= count; i += 32) {                                                                             \
            for (int32_t j = i; j < i + 32; j += 8) {                                                                  \
                const __m256 v = _mm256_loadu_ps(x + j);                                                               \
                _mm256_storeu_ps(y + j, expression);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        for (; i + 8 <= count; i += 8) {                                                                               \
            const __m256 v = _mm256_loadu_ps(x + i);                                                                   \
            _mm256_storeu_ps(y + i, expression);                                                                       \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            const __m256 v = nnacl_load_avx2(x + i, count - i);                                                        \
            nnacl_store_avx2(y + i, expression, count - i);                                                            \
        }                                                                                                              \
    }

#define NNACL_FUSED_PAIRS(load_a, load_b, expression)                                                                  \
    for (; i + 32 <= count; i += 32) {                                                                                 \
        for (int32_t j = i; j < i + 32; j += 8) {                                                                      \
            const __m256 a = load_a(_mm256_loadu_ps(as + j)), b = load_b(_mm256_loadu_ps(bs + j));                     \
            _mm256_storeu_ps(y + j, expression);                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    for (; i + 8 <= count; i += 8) {                                                                                   \
        const __m256 a = load_a(_mm256_loadu_ps(as + i)), b = load_b(_mm256_loadu_ps(bs + i));                         \
        _mm256_storeu_ps(y + i, expression);                                                                           \
    }
#define NNACL_FUSED_VECTOR(vector) vector
#define NNACL_FUSED_ONE_A(vector) one_a
#define NNACL_FUSED_ONE_B(vector) one_b

/* `expression` computes eight y from a and b. */
#define NNACL_FUSED_BINARY_LOOP(op, expression)                                                                        \
    static inline void op##_loop(int32_t count, const nnacl_fused_operand *operands, float *y) {                       \
        const float *as = operands[0].data, *bs = operands[1].data;                                                    \
        const __m256 one_a = _mm256_broadcast_ss(as), one_b = _mm256_broadcast_ss(bs);                                 \
        int32_t i = 0;                                                                                                 \
        if (operands[0].step == 0) {                                                                                   \
            NNACL_FUSED_PAIRS(NNACL_FUSED_ONE_A, NNACL_FUSED_VECTOR, expression)                                       \
        } else if (operands[1].step == 0) {                                                                            \
            NNACL_FUSED_PAIRS(NNACL_FUSED_VECTOR, NNACL_FUSED_ONE_B, expression)                                       \
        } else {                                                                                                       \
            NNACL_FUSED_PAIRS(NNACL_FUSED_VECTOR, NNACL_FUSED_VECTOR, expression)                                      \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            const __m256 a = operands[0].step == 0 ? one_a : nnacl_load_avx2(as + i, count - i);                       \
            const __m256 b = operands[1].step == 0 ? one_b : nnacl_load_avx2(bs + i, count - i);                       \
            nnacl_store_avx2(y + i, expression, count - i);                                                            \
        }                                                                                                              \
    }

NNACL_SIMPLE_UNARY_AVX2(NNACL_FUSED_UNARY_LOOP)
NNACL_SIMPLE_UNARY_PLAIN_AVX2(NNACL_FUSED_UNARY_LOOP)
NNACL_SIMPLE_BINARY_AVX2(NNACL_FUSED_BINARY_LOOP)

#endif
