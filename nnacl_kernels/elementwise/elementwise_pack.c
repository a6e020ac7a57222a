/* SPDX-License-Identifier: Apache-2.0 */
#include "elementwise/elementwise.h"

static bool is_normal(int32_t multiplier) {
    return multiplier >= 1 << 30;
}

/* The contract tflite-double between tensors of one shape, in numbers that leave room for the sums. */
bool nnacl_add_accepts_small(const void *params) {
    const nnacl_binary_params *p = params;
    const bool rounding = p->rounding == NNACL_ROUND_TFLITE_DOUBLE || p->rounding == NNACL_ROUND_TFLITE_DOWN;
    const bool same_shape = p->rank == 1 && p->a_strides[0] == 1 && p->b_strides[0] == 1;
    const bool shifts = p->a_shift >= 0 && p->b_shift >= 0 && p->left_shift + p->a_shift <= 21 &&
                        p->left_shift + p->b_shift <= 21 && p->y_shift <= -1 && p->y_shift >= -22;
    return rounding && same_shape && shifts && p->left_shift >= 0 && is_normal(p->a_mult) && is_normal(p->b_mult) &&
           is_normal(p->y_mult);
}
