/* SPDX-License-Identifier: Apache-2.0 */
#include "common/inverse_root.h"
#include "common/share.h"
#include "norm/norm.h"

NNACL_DECLARE(nnacl_l2_norm_s8_c);
void nnacl_l2_norm_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_l2_norm_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->rows);
    for (int32_t row = share.begin; row < share.end; row++) {
        const int8_t *x = (const int8_t *)in[0] + (ptrdiff_t)row * p->depth;
        int8_t *y = (int8_t *)out[0] + (ptrdiff_t)row * p->depth;
        int32_t squares = 0, shift;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = x[i] - p->x_zero;
            squares += value * value;
        }
        const int32_t factor = nnacl_inverse_root(squares, &shift);
        const int32_t before = p->scaled_first ? 128 : 1;
        shift += p->scaled_first ? 0 : 7;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t value = before * (x[i] - p->x_zero);
            y[i] = (int8_t)nnacl_clamp_s32(nnacl_requant_double(value, factor, shift), -128, 127);
        }
    }
}
