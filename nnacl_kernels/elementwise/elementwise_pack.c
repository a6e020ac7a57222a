/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/elementwise.h"

static bool is_normal(int32_t multiplier) {
    return multiplier >= 1 << 30;
}

bool nnacl_product_accepts_small(const void *params) {
    const nnacl_binary_params *p = params;
    const int32_t most = p->rounding == NNACL_ROUND_SINGLE ? -2 : -1;
    return p->rounding != NNACL_ROUND_FLOAT_EVEN && is_normal(p->y_mult) && p->y_shift >= -22 && p->y_shift <= most;
}

bool nnacl_prelu_accepts_small(const void *params) {
    const nnacl_binary_params *p = params;
    return p->rounding != NNACL_ROUND_SINGLE && nnacl_product_accepts_small(params) && is_normal(p->a_mult) &&
           p->a_shift >= -22 && p->a_shift <= 16;
}

/* The contract tflite-double, in numbers that leave room for the sums. */
bool nnacl_add_accepts_small(const void *params) {
    const nnacl_binary_params *p = params;
    const bool rounding = p->rounding == NNACL_ROUND_TFLITE_DOUBLE || p->rounding == NNACL_ROUND_TFLITE_DOWN;
    const bool shifts = p->a_shift >= 0 && p->b_shift >= 0 && p->left_shift + p->a_shift <= 21 &&
                        p->left_shift + p->b_shift <= 21 && p->y_shift <= -1 && p->y_shift >= -22;
    return rounding && shifts && p->left_shift >= 0 && is_normal(p->a_mult) && is_normal(p->b_mult) &&
           is_normal(p->y_mult);
}
