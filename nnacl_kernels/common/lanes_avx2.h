/* SPDX-License-Identifier: Apache-2.0 */
/* Partial vectors of eight. */
#ifndef NNACL_LANES_AVX2_H
#define NNACL_LANES_AVX2_H

#include <immintrin.h>

#include "nnacl_base.h"

/* Lanes 0 .. count - 1 set; count may be negative or above 8. */
static inline __m256i nnacl_lanes_avx2(int32_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Up to 8 floats; the rest is 0 and not read. */
static inline __m256 nnacl_load_avx2(const float *source, int32_t count) {
    return count >= 8 ? _mm256_loadu_ps(source) : _mm256_maskload_ps(source, nnacl_lanes_avx2(count));
}

static inline void nnacl_store_avx2(float *target, __m256 value, int32_t count) {
    if (count >= 8) {
        _mm256_storeu_ps(target, value);
    } else {
        _mm256_maskstore_ps(target, nnacl_lanes_avx2(count), value);
    }
}

#endif
