/* SPDX-License-Identifier: Apache-2.0 */
/* Partial vectors. */
#ifndef NNACL_LANES_AVX2_H
#define NNACL_LANES_AVX2_H

#include <immintrin.h>

#include "nnacl_base.h"

/* Lanes 0 .. count - 1 set; count may be negative or above 8. */
static inline __m256i nnacl_lanes_avx2(int32_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#endif
