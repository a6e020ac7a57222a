/* SPDX-License-Identifier: Apache-2.0 */
/* What add, sub and mul of s8 under float-even compute with: y = (a_scale * (a - a_zero), joined with the same of b)
 * / y_scale + zero, halves to even. The sources in assembly know the order of the fields. */
#ifndef NNACL_BINARY_EVEN_H
#define NNACL_BINARY_EVEN_H

#include "elementwise/binary_rows_s8.h"

typedef struct nnacl_binary_even {
    int32_t a_zero, b_zero;
    float a_scale, b_scale, y_scale;
    int32_t zero;
} nnacl_binary_even;

static inline nnacl_binary_even nnacl_binary_even_of(const nnacl_binary_params *p) {
    return (nnacl_binary_even){p->a_zero, p->b_zero, p->a_scale, p->b_scale, p->y_scale, p->y_zero};
}

/* A kernel of the rows that op_row() makes. */
#define NNACL_BINARY_EVEN(op, isa)                                                                                     \
    NNACL_DECLARE(nnacl_##op##_even_s8_##isa);                                                                         \
    void nnacl_##op##_even_s8_##isa(const nnacl_ctx *ctx, const void *params, const void *const in[],                  \
                                    void *const out[]) {                                                               \
        const nnacl_binary_even k = nnacl_binary_even_of(params);                                                      \
        nnacl_binary_rows_s8(ctx, params, in, out, op##_row, &k);                                                      \
    }

#endif
