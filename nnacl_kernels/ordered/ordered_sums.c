/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered/ordered_sums.h"

#include "common/fused_product.h"

static void add_blocks(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, float *sums) {
    for (int32_t begin = 0; begin < r->depth; begin += r->block) {
        const int32_t end = r->depth - begin < r->block ? r->depth : begin + r->block;
        float block[NNACL_ORDERED_LANES] = {0};
        for (int32_t k = begin; k < end; k++) {
            for (int32_t lane = 0; lane < lanes; lane++) {
                block[lane] = nnacl_fused_product(a[k], b[k * r->stride + lane], block[lane]);
            }
        }
        for (int32_t lane = 0; lane < lanes; lane++) {
            sums[lane] += block[lane];
        }
    }
}

static void add_fours(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, float *sums) {
    int32_t run;
    for (int32_t begin = 0; begin < r->depth; begin += run) {
        const int32_t left = r->depth - begin;
        run = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        for (int32_t lane = 0; lane < lanes; lane++) {
            const float *factors = b + begin * r->stride + lane;
            float sum = a[begin] * factors[0];
            for (int32_t k = 1; k < run; k++) {
                sum += a[begin + k] * factors[k * r->stride];
            }
            sums[lane] = sum + sums[lane];
        }
    }
}

/* `place`: where the result lies among r->places; they are computed in fours, the rest as a pair and a single one. */
static float sum_of_eights(const nnacl_ordered_row *r, const float *a, const float *b, int32_t place) {
    float s[8] = {0};
    for (int32_t k = 0; k < r->depth; k++) {
        s[k & 7] += a[k] * b[k * r->stride];
    }
    const int32_t whole = r->places & ~3;
    if (place < whole) {
        return (((s[0] + s[1]) + s[2]) + s[3]) + (((s[4] + s[5]) + s[6]) + s[7]);
    }
    if ((r->places & 2) && place < whole + 2) {
        return ((s[0] + s[2]) + (s[4] + s[6])) + ((s[1] + s[3]) + (s[5] + s[7]));
    }
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

void nnacl_ordered_sums(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, int32_t place,
                        int32_t step, float *sums) {
    if (r->order == NNACL_ORDER_BLOCKS) {
        add_blocks(r, a, b, lanes, sums);
    } else if (r->order == NNACL_ORDER_FOURS) {
        add_fours(r, a, b, lanes, sums);
    } else {
        for (int32_t lane = 0; lane < lanes; lane++) {
            sums[lane] = sum_of_eights(r, a, b + lane, place + lane * step) + sums[lane];
        }
    }
}
