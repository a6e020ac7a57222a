/* SPDX-License-Identifier: Apache-2.0 */
/* a * b + c, rounded once, as the instructions for it do; the C library of a microcontroller may round twice. */
#ifndef NNACL_FUSED_PRODUCT_H
#define NNACL_FUSED_PRODUCT_H

#include <stdint.h>
#include <string.h>

/* The product is exact in double. The sum is rounded to odd there, so that rounding it to float once more gives what
 * rounding the exact sum gives (Boldo, Melquiond: Emulation of a FMA and correctly rounded sums). */
static inline float nnacl_fused_product(float a, float b, float c) {
    const double product = (double)a * (double)b;
    double sum = product + (double)c;
    const double taken = sum - product;
    const double lost = (product - (sum - taken)) + ((double)c - taken);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((lost > 0.0 || lost < 0.0) && !(bits & 1)) {
        bits += (lost > 0.0) == (sum > 0.0) ? 1u : UINT64_MAX;
        memcpy(&sum, &bits, sizeof bits);
    }
    return (float)sum;
}

#endif
