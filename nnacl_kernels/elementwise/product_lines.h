/* SPDX-License-Identifier: Apache-2.0 */
/* How a product of s8 becomes an element of y, for mul and prelu: (high + [high < 0 ? -1 : 0] + offset) >> right, where
 * `high` is the product * 2^left * mult / 2^31, halves up; under the contract single product * mult / 2^32, down. */
#ifndef NNACL_PRODUCT_LINES_H
#define NNACL_PRODUCT_LINES_H

#include "elementwise/elementwise.h"

/* The sources in assembly know the order of these fields. */
typedef struct nnacl_product_line {
    int32_t mult, offset, right, left;
} nnacl_product_line;

typedef struct nnacl_product_lines {
    int32_t a_zero, b_zero;
    nnacl_product_line product;  /* left: 0 */
    nnacl_product_line positive; /* of a alone, for prelu */
} nnacl_product_lines;

static inline nnacl_product_line nnacl_product_line_of(int32_t mult, int32_t shift, const nnacl_binary_params *p) {
    const int32_t single = NNACL_ROUNDS(p->rounding, NNACL_ROUND_SINGLE) ? 1 : 0;
    const int32_t left = shift > 0 ? shift : 0, right = shift < 0 ? -shift - single : 0;
    return (nnacl_product_line){mult, (1 << right >> 1) + p->y_zero * (1 << right), right, left};
}

static inline nnacl_product_lines nnacl_product_lines_of(const nnacl_binary_params *p) {
    return (nnacl_product_lines){
        .a_zero = p->a_zero,
        .b_zero = p->b_zero,
        .product = nnacl_product_line_of(p->y_mult, p->y_shift, p),
        .positive = nnacl_product_line_of(p->a_mult, p->a_shift, p),
    };
}

/* By the rounding: whether negative numbers are lowered. */
static inline bool nnacl_product_is_away(int32_t rounding) {
    return NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_DOUBLE) || NNACL_ROUNDS(rounding, NNACL_ROUND_TFLITE_DOWN);
}

#endif
