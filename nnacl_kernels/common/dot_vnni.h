/* SPDX-License-Identifier: Apache-2.0 */
/* The products of AVX-512 VNNI. */
#ifndef NNACL_DOT_VNNI_H
#define NNACL_DOT_VNNI_H

#include <immintrin.h>

#include "nnacl_base.h"

/* _mm512_dpbusd_epi32(), for which gcc 12 copies each sum to another register and back. */
NNACL_ALWAYS_INLINE void nnacl_dot_vnni(__m512i *sum, __m512i left, __m512i right) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(left), "v"(right));
}

#endif
