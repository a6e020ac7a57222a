/* SPDX-License-Identifier: Apache-2.0 */
/* The three orders of ordered.h, for up to NNACL_ORDERED_LANES results beside each other. */
#ifndef NNACL_ORDERED_SUMS_H
#define NNACL_ORDERED_SUMS_H

#include "ordered/ordered.h"

#define NNACL_ORDERED_LANES 8

/* What the results of one call have in common. */
typedef struct nnacl_ordered_row {
    int32_t order, block;
    int32_t depth;    /* products of each result */
    ptrdiff_t stride; /* from the factors of one product to those of the next, in `b` */
    int32_t places;   /* eights: of how many results this is one */
} nnacl_ordered_row;

/* Adds the products of `a` and a column of `b` to each of `sums`. The first result lies at `place`, the others behind
 * it, or with `step` 0 all there. */
void nnacl_ordered_sums(const nnacl_ordered_row *r, const float *a, const float *b, int32_t lanes, int32_t place,
                        int32_t step, float *sums);

#endif
