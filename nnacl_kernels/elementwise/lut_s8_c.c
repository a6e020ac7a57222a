/* SPDX-License-Identifier: Apache-2.0 */
#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_lut_s8_c);
void nnacl_lut_s8_c(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lut_params *p = params;
    const int8_t *x = in[0];
    const int8_t *table = (const int8_t *)in[1] + 128;
    int8_t *y = out[0];
    const nnacl_range share = nnacl_share(ctx, p->count);
    for (int32_t i = share.begin; i < share.end; i++) {
        y[i] = table[x[i]];
    }
}
