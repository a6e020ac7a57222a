/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that layers on bfloat16 are made of with AVX-512 BF16: up to 8 rows by three panels of 16 columns. vdpbf16ps
 * multiplies pairs and adds in f32. */
#ifndef NNACL_GEMM_BFLOAT_AVX512BF16_H
#define NNACL_GEMM_BFLOAT_AVX512BF16_H

#include <immintrin.h>

#include "common/bfloat.h"

#define NNACL_TILE_ROWS 8
#define NNACL_TILE_PANELS 3
#define NNACL_TILE_VECTORS 1
#define NNACL_TILE_WHOLE 1

typedef __m512i nnacl_vector;
typedef float nnacl_tile_result;
/* The clamp. */
typedef struct nnacl_requant_lanes {
    float low, high;
} nnacl_requant_lanes;

#include "common/simd_tile_quads.h"

static inline nnacl_vector nnacl_vector_zero(void) {
    return _mm512_setzero_si512();
}

static inline nnacl_vector nnacl_vector_load(const void *from) {
    return _mm512_loadu_si512(from);
}

static inline nnacl_vector nnacl_vector_add(nnacl_vector a, nnacl_vector b) {
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

static inline nnacl_vector nnacl_vector_all(int32_t lane) {
    return _mm512_set1_epi32(lane);
}

/* A pair of a row for all columns. */
static inline nnacl_vector nnacl_vector_left(int32_t pair) {
    return _mm512_set1_epi32(pair);
}

static inline __mmask16 nnacl_lanes_avx512bf16(int32_t count) {
    return (__mmask16)(count >= 16 ? 0xffff : (1u << (count > 0 ? count : 0)) - 1u);
}

/* `count` lanes; those past them are 0. */
static inline nnacl_vector nnacl_vector_lanes(const int32_t *from, int32_t count) {
    return _mm512_maskz_loadu_epi32(nnacl_lanes_avx512bf16(count), from);
}

/* _mm512_dpbf16_ps(), for which gcc 12 copies each sum to another register and back. */
NNACL_ALWAYS_INLINE void nnacl_vector_dot(nnacl_vector *sum, nnacl_vector left, nnacl_vector right) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(left), "v"(right));
}

/* nnacl_float_to_bfloat() of `count` numbers. */
static inline void nnacl_bfloat_round(const float *from, int32_t count, uint16_t *to) {
    for (int32_t i = 0; i < count; i += 16) {
        const __mmask16 lanes = nnacl_lanes_avx512bf16(count - i);
        const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes, from + i));
        _mm256_mask_storeu_epi16(to + i, lanes, (__m256i)rounded);
    }
}

/* y = clamp(a x b + bias) for 1 .. 8 rows. */
void nnacl_tile_run_avx512bf16(const nnacl_tile *t, int32_t rows);

static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    nnacl_tile_run_avx512bf16(t, rows);
}

/* How many of `left` panels come next: 4 are two and two. */
static inline int32_t nnacl_tile_take(int32_t left) {
    return left == 4 ? 2 : left < NNACL_TILE_PANELS ? left : NNACL_TILE_PANELS;
}

#endif
