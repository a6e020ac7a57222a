/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lookup_vbmi.h"
#include "common/share.h"
#include "elementwise/elementwise.h"

NNACL_DECLARE(nnacl_lut_s8_vbmi);

void nnacl_lut_s8_vbmi(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[]) {
    const nnacl_lut_params *p = params;
    const nnacl_range share = nnacl_share(ctx, p->count);
    nnacl_lookup_vbmi(in[1], in[0], share.begin, share.end, 0x80, out[0]);
}
