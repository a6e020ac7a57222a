/* SPDX-License-Identifier: Apache-2.0 */
/* Some neighbouring sums of one row of a product of bytes. */
#ifndef NNACL_MATMUL_SUMS_H
#define NNACL_MATMUL_SUMS_H

#include "common/byte_s8.h"
#include "dense/matmul_batch.h"

/* Sums that are computed at a time. */
#define NNACL_MATMUL_SUMS 32

/* One row of a and the matrix b, as bytes that are s8 once flipped. */
typedef struct nnacl_byte_row {
    const uint8_t *a, *b;
    ptrdiff_t a_step;
    uint8_t a_flip, b_flip;
    uint32_t a_zero; /* of the flipped bytes */
} nnacl_byte_row;

static inline nnacl_byte_row nnacl_byte_row_at(const nnacl_matmul_params *p, const void *a, const void *b,
                                               int32_t row) {
    const int32_t batch = row / p->m, i = row % p->m;
    const ptrdiff_t a_size = (ptrdiff_t)p->m * p->k, b_size = (ptrdiff_t)p->k * p->n;
    nnacl_byte_row bytes = {.a_flip = nnacl_byte_flip(p->a_type), .b_flip = nnacl_byte_flip(p->b_type), .a_zero = 0};
    bytes.a = (const uint8_t *)a + nnacl_matmul_index(p, p->a_strides, batch) * a_size;
    bytes.a += p->transpose_a ? i : (ptrdiff_t)i * p->k;
    bytes.a_step = p->transpose_a ? p->m : 1;
    bytes.b = (const uint8_t *)b + nnacl_matmul_index(p, p->b_strides, batch) * b_size;
    return bytes;
}

/* sums[j] = the products of (a - a_zero) and column first + j of b, modulo 2^32, for count columns. Returns the sum of
 * a - a_zero, which times a zero point of b is what the sums have too much. */
static inline uint32_t nnacl_matmul_sums(const nnacl_matmul_params *p, const nnacl_byte_row *row, int32_t first,
                                         int32_t count, uint32_t *sums) {
    uint32_t total = 0;
    for (int32_t j = 0; j < count; j++) {
        sums[j] = 0;
    }
    for (int32_t l = 0; l < p->k; l++) {
        const uint32_t factor = (uint32_t)nnacl_byte_at(row->a, l * row->a_step, row->a_flip) - row->a_zero;
        total += factor;
        if (p->transpose_b) {
            for (int32_t j = 0; j < count; j++) {
                sums[j] += factor * (uint32_t)nnacl_byte_at(row->b, (ptrdiff_t)(first + j) * p->k + l, row->b_flip);
            }
        } else {
            const uint8_t *b = row->b + (ptrdiff_t)l * p->n + first;
            for (int32_t j = 0; j < count; j++) {
                sums[j] += factor * (uint32_t)nnacl_byte_at(b, j, row->b_flip);
            }
        }
    }
    return total;
}

#endif
