/* SPDX-License-Identifier: Apache-2.0 */
#include "common/curve_s16.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_lut_s16_c);
void nnacl_lut_s16_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lut_params *p = params;
    const int16_t *x = in[0], *table = in[1];
    int16_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, p->count);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = (int16_t)nnacl_clamp_s32(nnacl_curve_at_s16(table, x[i]), INT16_MIN, INT16_MAX);
    }
}
