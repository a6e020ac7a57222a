/* SPDX-License-Identifier: Apache-2.0 */
/* The tile that the s8 convolution and dense of AVX-VNNI are made of, for processors without AVX-512: up to 6 rows by
 * one panel of 16 columns, in two vectors. */
#ifndef NNACL_GEMM_S8_AVXVNNI_H
#define NNACL_GEMM_S8_AVXVNNI_H

#include "common/requant_avx2.h"

#define NNACL_TILE_ROWS 6
#define NNACL_TILE_PANELS 1
#define NNACL_TILE_VECTORS 2
#define NNACL_TILE_WHOLE 0

typedef __m256i nnacl_vector;
typedef int8_t nnacl_tile_result;
typedef nnacl_requant_eight nnacl_requant_lanes;

#include "common/simd_tile_quads.h"

static inline nnacl_vector nnacl_vector_zero(void) {
    return _mm256_setzero_si256();
}

static inline nnacl_vector nnacl_vector_load(const void *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

static inline nnacl_vector nnacl_vector_add(nnacl_vector a, nnacl_vector b) {
    return _mm256_add_epi32(a, b);
}

static inline nnacl_vector nnacl_vector_all(int32_t lane) {
    return _mm256_set1_epi32(lane);
}

/* Four bytes of a row for all columns, 128 more each. */
static inline nnacl_vector nnacl_vector_left(int32_t quad) {
    return _mm256_xor_si256(_mm256_set1_epi32(quad), _mm256_set1_epi8((char)0x80));
}

/* `count` lanes; those past them are 0. */
static inline nnacl_vector nnacl_vector_lanes(const int32_t *from, int32_t count) {
    return nnacl_load_s32_avx2(from, count);
}

/* `count` bytes; those past them are 0. */
static inline nnacl_vector nnacl_vector_bytes(const int8_t *from, int32_t count) {
    int8_t all[32] = {0};
    if (count >= 32) {
        return nnacl_vector_load(from);
    }
    memcpy(all, from, (size_t)count);
    return nnacl_vector_load(all);
}

/* Up to 16 bytes; those past them are 0. */
static inline __m128i nnacl_sixteen_bytes(const int8_t *from, int32_t count) {
    return nnacl_load_s8_avx2(from, count);
}

/* _mm256_dpbusd_avx_epi32(), for which gcc 12 copies each sum to another register and back. */
NNACL_ALWAYS_INLINE void nnacl_vector_dot(nnacl_vector *sum, nnacl_vector left, nnacl_vector right) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(*sum) : "x"(left), "x"(right));
}

/* Of the panel of a tile: channels first .. first + columns - 1 of `channels`. */
static inline void nnacl_tile_requant(nnacl_requant_lanes *lanes, const void *requant, int32_t channels, int32_t first,
                                      int32_t columns, int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    for (int32_t j = 0; j < NNACL_TILE_VECTORS; j++) {
        lanes[j] =
            nnacl_requant_eight_avx2(requant, channels, first + 8 * j, columns - 8 * j, rounding, zero, q_min, q_max);
    }
}

/* The same for every channel. */
static inline void nnacl_tile_requant_alike(nnacl_requant_lanes *lanes, int32_t multiplier, int32_t shift, float scale,
                                            int32_t rounding, int32_t zero, int32_t q_min, int32_t q_max) {
    const bool scales = rounding == NNACL_ROUND_FLOAT_EVEN;
    const bool up = rounding == NNACL_ROUND_TFLITE_UP || rounding == NNACL_ROUND_TFLITE_UP_BY_8;
    for (int32_t j = 0; j < NNACL_TILE_VECTORS; j++) {
        lanes[j] =
            (nnacl_requant_lanes){scales ? _mm256_castps_si256(_mm256_set1_ps(scale)) : _mm256_set1_epi32(multiplier),
                                  _mm256_set1_epi32(shift),
                                  _mm256_set1_epi32(up ? -1 : 0),
                                  rounding,
                                  zero,
                                  q_min - zero,
                                  q_max - zero};
    }
}

/* y = requant(a x b + bias) for 1 .. 6 rows. */
void nnacl_tile_run_s8_avxvnni(const nnacl_tile *t, int32_t rows);

static inline void nnacl_tile_run(const nnacl_tile *t, int32_t rows) {
    nnacl_tile_run_s8_avxvnni(t, rows);
}

static inline int32_t nnacl_tile_take(int32_t left) {
    (void)left;
    return 1;
}

#endif
