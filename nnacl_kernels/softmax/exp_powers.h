/* SPDX-License-Identifier: Apache-2.0 */
/* The exponentials of a quantized softmax without a table, for microcontrollers: exp(-scale) to the power of the steps,
 * in integers of 64 bits. The arguments of the table were rounded to float32, scale * steps to 24 bits; what that added
 * to them is corrected. A generator of code holds all 256 results against the table that they replace. */
#ifndef NNACL_EXP_POWERS_H
#define NNACL_EXP_POWERS_H

#include "nnacl_base.h"

typedef struct nnacl_exp_powers {
    uint32_t low, high; /* exp(-scale) is high * 2^32 + low, which has its highest bit, times 2^(-64 - right) */
    int32_t right;
    uint32_t scale; /* times 2^-place, less than 2^24 */
    int32_t place;
} nnacl_exp_powers;

/* exp of `steps` steps, 0 .. 255, less than nothing. */
float nnacl_exp_power(const nnacl_exp_powers *p, uint32_t steps);

#endif
