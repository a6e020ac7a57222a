/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax/exp_powers.h"

#include <string.h>

/* mantissa * 2^(-64 - right), the mantissa with its highest bit. */
typedef struct number {
    uint64_t mantissa;
    int32_t right;
} number;

/* The product of mantissas may be up to 2 less than its upper half. */
static NNACL_NOINLINE void multiply(number *a, const number *b) {
    const uint64_t a_high = a->mantissa >> 32, a_low = (uint32_t)a->mantissa;
    const uint64_t b_high = b->mantissa >> 32, b_low = (uint32_t)b->mantissa;
    uint64_t product = a_high * b_high + (a_high * b_low >> 32) + (a_low * b_high >> 32);
    int32_t right = a->right + b->right;
    if (!(product >> 63)) {
        product <<= 1;
        right++;
    }
    a->mantissa = product;
    a->right = right;
}

float nnacl_exp_power(const nnacl_exp_powers *p, uint32_t steps) {
    number power = {(uint64_t)p->high << 32 | p->low, p->right}, value = {UINT64_MAX, 0};
    for (uint32_t left = steps; left; left >>= 1) {
        if (left & 1) {
            multiply(&value, &power);
        }
        multiply(&power, &power);
    }
    /* what was added to the argument when it was rounded, and 1 - that or 1 + that for its exponential */
    const uint32_t argument = p->scale * steps;
    const int32_t added = (int32_t)((uint32_t)(float)argument - argument);
    const uint64_t more = (uint64_t)(added < 0 ? -added : added) << (64 - p->place);
    const number below = {~more, 0}, above = {(more >> 1) | (uint64_t)1 << 63, -1};
    multiply(&value, added < 0 ? &above : &below);
    const uint32_t bits =
        ((uint32_t)(125 - value.right) << 23) + (uint32_t)(value.mantissa >> 40) + (uint32_t)(value.mantissa >> 39 & 1);
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}
