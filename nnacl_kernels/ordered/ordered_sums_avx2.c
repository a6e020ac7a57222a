/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/ordered_sums_avx2.h"

#include "common/lanes_avx2.h"

static void add_blocks(const nnacl_ordered_row *r, const float *a, const float *b, __m256i wanted, float *sums) {
    __m256 total = _mm256_maskload_ps(sums, wanted);
    for (int32_t begin = 0; begin < r->depth; begin += r->block) {
        const int32_t end = r->depth - begin < r->block ? r->depth : begin + r->block;
        __m256 block = _mm256_setzero_ps();
        for (int32_t k = begin; k < end; k++) {
            const __m256 factors = _mm256_maskload_ps(b + k * r->stride, wanted);
            block = _mm256_fmadd_ps(_mm256_broadcast_ss(a + k), factors, block);
        }
        total = _mm256_add_ps(total, block);
    }
    _mm256_maskstore_ps(sums, wanted, total);
}

void nnacl_ordered_sums_avx2(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, int32_t place,
                             int32_t step, float *sums) {
    if (r->order != NNACL_ORDER_BLOCKS) {
        nnacl_ordered_sums(r, a, b, lanes, place, step, sums);
        return;
    }
    add_blocks(r, a, b, nnacl_lanes_avx2(lanes), sums);
}
