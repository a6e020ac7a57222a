/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the s8 convolution and dense of AVX-512 VNNI are made of: up to 8 rows by three panels of 16 columns.
 * vpdpbusd multiplies bytes without a sign by bytes with one and adds four products without saturation. */
#ifndef NNACL_GEMM_S8_VNNI_H
#define NNACL_GEMM_S8_VNNI_H

#include "common/dot_vnni.h"
#include "common/requant_avx512.h"

#define NNACL_TILE_ROWS 8
#define NNACL_TILE_PANELS 3
#define NNACL_TILE_VECTORS 1
#define NNACL_TILE_WHOLE 0

typedef __m512i nnacl_vector;
typedef int8_t nnacl_tile_result;

#include "common/simd_tile_quads.h"

static inline nnacl_vector nnacl_vector_zero(void) {
    return _mm512_setzero_si512();
}

static inline nnacl_vector nnacl_vector_load(const void *from) {
    return _mm512_loadu_si512(from);
}

static inline nnacl_vector nnacl_vector_add(nnacl_vector a, nnacl_vector b) {
    return _mm512_add_epi32(a, b);
}

static inline nnacl_vector nnacl_vector_all(int32_t lane) {
    return _mm512_set1_epi32(lane);
}

/* Four bytes of a row for all columns, 128 more each. */
static inline nnacl_vector nnacl_vector_left(int32_t quad) {
    return _mm512_xor_si512(_mm512_set1_epi32(quad), _mm512_set1_epi8((char)0x80));
}

/* `count` lanes; those past them are 0. */
static inline nnacl_vector nnacl_vector_lanes(const int32_t *from, int32_t count) {
    return _mm512_maskz_loadu_epi32(nnacl_lanes_s32_avx512(count), from);
}

/* `count` bytes; those past them are 0. */
static inline nnacl_vector nnacl_vector_bytes(const int8_t *from, int32_t count) {
    const __mmask64 lanes = count >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1;
    return _mm512_maskz_loadu_epi8(lanes, from);
}

/* Up to 16 bytes; those past them are 0. */
static inline __m128i nnacl_sixteen_bytes(const int8_t *from, int32_t count) {
    return _mm_maskz_loadu_epi8(nnacl_lanes_s32_avx512(count), from);
}

NNACL_ALWAYS_INLINE void nnacl_vector_dot(nnacl_vector *sum, nnacl_vector left, nnacl_vector right) {
    nnacl_dot_vnni(sum, left, right);
}

/* Of the panels of a tile: channels first .. first + columns - 1 of `channels`. */
static inline void nnacl_tile_requant(nnacl_requant_lanes *lanes, const void *requant, int32_t channels, int32_t first,
                                      int32_t columns, int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    for (int32_t j = 0; 16 * j < columns; j++) {
        lanes[j] = nnacl_requant_lanes_avx512(requant, channels, first + 16 * j, columns - 16 * j, rounding, zero,
                                              q_min, q_max);
    }
}

/* The same for every channel. */
static inline void nnacl_tile_requant_alike(nnacl_requant_lanes *lanes, int32_t multiplier, int32_t shift, float scale,
                                            int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    const bool scales = rounding == NNACL_ROUND_FLOAT_EVEN;
    const bool up = rounding == NNACL_ROUND_TFLITE_UP || rounding == NNACL_ROUND_TFLITE_UP_BY_8;
    const bool saturates =
        scales && scale >= 0.0f && scale <= NNACL_SATURATING_SCALE && q_min == INT8_MIN && q_max == INT8_MAX;
    for (int32_t j = 0; j < NNACL_TILE_PANELS; j++) {
        lanes[j] =
            (nnacl_requant_lanes){scales ? _mm512_castps_si512(_mm512_set1_ps(scale)) : _mm512_set1_epi32(multiplier),
                                  _mm512_set1_epi32(shift),
                                  (__mmask16)(up ? 0xffff : 0),
                                  rounding,
                                  zero,
                                  q_min - zero,
                                  q_max - zero,
                                  saturates};
    }
}

/* y = requant(a x b + bias) for 1 .. 8 rows. */
void nnacl_tile_run_s8_vnni(const nnacl_tile *t, int32_t rows);

static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    nnacl_tile_run_s8_vnni(t, rows);
}

/* How many of `left` panels come next: 4 are two and two. */
static inline int32_t nnacl_tile_take(int32_t left) {
    return left == 4 ? 2 : left < NNACL_TILE_PANELS ? left : NNACL_TILE_PANELS;
}

#endif
