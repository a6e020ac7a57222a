/* SPDX-License-Identifier: Apache-2.0 */
#include <arm_nnfunctions.h>

#include "elementwise/elementwise.h"

static int32_t count_of(const nnacl_binary_params *p) {
    int32_t count = 1;
    for (int32_t i = 0; i < p->rank; i++) {
        count *= p->dims[i];
    }
    return count;
}

/* Operands of equal shapes. */
NNACL_DECLARE(nnacl_add_s8_cmsisnn);
void nnacl_add_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    (void)ctx;
    (void)arm_elementwise_add_s8(in[0], in[1], -p->a_zero, p->a_mult, p->a_shift, -p->b_zero, p->b_mult, p->b_shift,
                                 p->left_shift, out[0], p->y_zero, p->y_mult, p->y_shift, p->q_min, p->q_max,
                                 count_of(p));
}

NNACL_DECLARE(nnacl_mul_s8_cmsisnn);
void nnacl_mul_s8_cmsisnn(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_binary_params *p = params;
    (void)ctx;
    (void)arm_elementwise_mul_s8(in[0], in[1], -p->a_zero, -p->b_zero, out[0], p->y_zero, p->y_mult, p->y_shift,
                                 p->q_min, p->q_max, count_of(p));
}
