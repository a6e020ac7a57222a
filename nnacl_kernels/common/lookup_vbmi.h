/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a byte by a table of 256 results, 64 at a time. */
#ifndef NNACL_LOOKUP_VBMI_H
#define NNACL_LOOKUP_VBMI_H

#include <immintrin.h>

#include "nnacl_base.h"

/* y[i] = table[x[i] ^ flip] for elements begin .. end - 1. */
static inline void nnacl_lookup_vbmi(const uint8_t *table, const uint8_t *x, int32_t begin, int32_t end, uint8_t flip,
                                     uint8_t *y) {
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    const __m512i turn = _mm512_set1_epi8((char)flip);
    for (int32_t i = begin; i < end; i += 64) {
        const __mmask64 lanes = end - i >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << (end - i)) - 1;
        const __m512i index = _mm512_xor_si512(_mm512_maskz_loadu_epi8(lanes, x + i), turn);
        const __m512i low = _mm512_permutex2var_epi8(a, index, b), high = _mm512_permutex2var_epi8(c, index, d);
        _mm512_mask_storeu_epi8(y + i, lanes, _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(index), high));
    }
}

#endif
